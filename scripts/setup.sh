#!/usr/bin/env bash
# Everything that SpanLab needs on this machine: system libraries, a virtual environment in .venv, the packages in their tested versions.
# Does nothing, in a fraction of a second, when all of it is there already.
#
#   PYTHON=/path/to/python3.12 scripts/setup.sh     to choose the Python (3.11 or 3.12)
#   SPANLAB_NO_UV=1 scripts/setup.sh                to install with pip alone
#   scripts/setup.sh demo                           only what the demonstration needs
#
# It may be stopped at any moment, and goes on where it was when it is started again.
set -euo pipefail
cd "$(dirname "$0")/.."
extras=dev
[ "${1:-}" != demo ] || extras=lab,chat,networks

# Runs a command, and says every so often how far it is; what the command says is shown only when it fails (and never with mute=1).
quietly() {
  local log pid began=$SECONDS told=0 size=""
  log="$(mktemp)"
  "$@" >"$log" 2>&1 &
  pid=$!
  trap 'kill "$pid" 2>/dev/null || true; rm -f "$log"; exit 130' INT TERM HUP
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    # on a terminal one line that changes, else a line every quarter of a minute
    if [ $((SECONDS - began)) -ge $((told + (terminal ? 3 : 15))) ]; then
      told=$((SECONDS - began))
      [ -d .venv ] && size="$(du -sm .venv 2>/dev/null | cut -f1) MB in .venv, "
      if [ $terminal = 1 ]; then printf '\r\033[Ksetup: ... %s%d s' "$size" $told >&2; else say "... $size$told s"; fi
    fi
  done
  if [ $terminal = 1 ] && [ $told != 0 ]; then printf '\r\033[K' >&2; fi
  trap - INT TERM HUP
  if wait "$pid"; then
    rm -f "$log"
  else
    [ -n "${mute:-}" ] || tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
}
terminal=0
if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then terminal=1; fi

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# --- the system: an X server for windows that nobody looks at, and the libraries that PsychoPy and Qt load ---------------------------------
packages=(xvfb xauth xdotool libgl1 libgl1-mesa-dri libglx-mesa0 libglu1-mesa libegl1 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1
  libxcb-image0 libxcb-render-util0 libxcb-xkb1 libxkbcommon-x11-0 libdbus-1-3)

may_be_root() { # root already, or sudo without a password, or somebody there to type it
  [ "$(id -u)" = 0 ] || { [ -x "$(command -v sudo)" ] && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

apt_install() {
  may_be_root || return 1
  say "installing with apt: $*"
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  # the lists of a fresh machine are empty or old; a mirror that cannot be reached matters only if the installation then fails
  quietly "${root[@]}" bash -c 'export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update; apt-get -qq install -y --no-install-recommends "$@"' apt "$@"
}

system_libraries() {
  [ "$(uname -s)" = Linux ] || return 0
  if ! command -v dpkg-query >/dev/null 2>&1; then
    command -v Xvfb >/dev/null 2>&1 || [ -n "${DISPLAY:-}" ] ||
      fail "no display and no Xvfb, and this is not Debian or Ubuntu; install Xvfb and the xcb and GL libraries with your package manager, then try again"
    return 0
  fi
  local missing=() name there
  there=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' "${packages[@]}" 2>/dev/null || true)"
  for name in "${packages[@]}"; do [[ $there == *" ii $name "* ]] || missing+=("$name"); done
  [ ${#missing[@]} = 0 ] && return 0
  apt_install "${missing[@]}" && return 0
  if [ -n "${DISPLAY:-}" ]; then
    say "going on without ${missing[*]}, because there is a display; tests that open windows need them"
  else
    fail "there is no display, and the packages that make up for it are not there; as root, run: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
}

# --- a Python that fits -----------------------------------------------------------------------------------------------------------------
suits() { # a shim may be there and not work, so ask the interpreter itself
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' >/dev/null 2>&1
}

has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

find_python() {
  local candidate candidates=("${PYTHON:-}")
  if [ -z "${PYTHON:-}" ]; then
    candidates=(python3.11 python3.12 python3 python /usr/bin/python3.11 /usr/bin/python3.12 /usr/bin/python3 /usr/local/bin/python3
      "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.11*/bin/python "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.12*/bin/python)
  fi
  for candidate in "${candidates[@]}"; do
    if suits "$candidate" && has_venv "$candidate"; then echo "$candidate"; return 0; fi
  done
  # Debian and Ubuntu ship Python without the module that makes virtual environments
  for candidate in "${candidates[@]}"; do
    if suits "$candidate" && command -v apt-get >/dev/null 2>&1; then
      apt_install "python$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv" && has_venv "$candidate" && echo "$candidate" && return 0
      break
    fi
  done
  return 1
}

# --- packages ---------------------------------------------------------------------------------------------------------------------------
# Installs with uv, which is several times as fast: the one of this computer, or one in .venv. Fails, and leaves it to pip, where uv is not to be had, cannot be
# told what pip is told (mirrors, certificates), or does not come to the very versions of constraints.txt.
with_uv() {
  local uv told line variables=() arguments=() into=variables
  [ -z "${SPANLAB_NO_UV:-}" ] || return 1
  told="$(.venv/bin/python scripts/pip_settings.py 2>&1)" || { say "installing with pip ($told)"; return 1; }
  while IFS= read -r line; do
    if [ "$line" = -- ]; then into=arguments; elif [ $into = variables ]; then variables+=("$line"); else arguments+=("$line"); fi
  done <<<"$told"
  uv="$(command -v uv || true)"
  if [ -z "$uv" ]; then
    uv=.venv/bin/uv
    [ -x $uv ] || .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv >/dev/null 2>&1 || return 1
  fi
  # certificates of the system, as pip uses them
  if ! mute=1 quietly env UV_NATIVE_TLS=true ${variables[@]+"${variables[@]}"} "$uv" pip install --python .venv/bin/python --no-progress \
    ${arguments[@]+"${arguments[@]}"} -c constraints.txt -e ".[$extras]"; then
    say "uv could not install them; trying pip"
    return 1
  fi
  .venv/bin/python scripts/installed.py check constraints.txt && return 0
  say "uv came to other versions; trying pip"
  return 1
}

python_packages() {
  local key stamped stamp=.venv/.set-up
  key="$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum) $PWD ${PYTHON:-}"
  # a whole set-up is enough for the demonstration, too
  stamped="$(cat "$stamp" 2>/dev/null || true)"
  if [ -x .venv/bin/python ] && { [ "$stamped" = "dev $key" ] || [ "$stamped" = "$extras $key" ]; } && .venv/bin/python -c '' 2>/dev/null; then
    return 0
  fi

  if [ -e .venv ] && ! { suits .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; }; then
    say "the environment in .venv does not work any more; making it anew"
    rm -rf .venv
  fi
  if [ ! -e .venv ]; then
    local python
    python="$(find_python)" || fail "no Python 3.11 or 3.12 that can make virtual environments; install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python3.12 make setup"
    say "making .venv with $("$python" -c 'import sys; print(sys.executable, "%d.%d.%d" % sys.version_info[:3])')"
    "$python" -m venv .venv
  fi
  .venv/bin/python scripts/installed.py mend >&2 # what a kill has left half done
  say "installing the packages (the first time: some minutes, 3 GB, or 7 GB where torch comes with CUDA) ..."
  # Python compiles what is used when it is used; all of it would take a minute.
  with_uv || quietly .venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[$extras]" ||
    fail "the packages could not be installed; see pip's message above (most often: no network)"
  # soundfile brings the library that it loads, but for systems that it does not know, and where a mirror has only its package for those
  .venv/bin/python -c 'import soundfile' 2>/dev/null || { [ "$(uname -s)" = Linux ] && apt_install libsndfile1 && .venv/bin/python -c 'import soundfile'; } ||
    say "going on without libsndfile; sound files of one's own cannot be read (install it with your package manager)"
  # what checks the participant's page: types and accessibility
  [ $extras != dev ] || .venv/bin/python scripts/page_tools.py install >&2 || say "going on without the tools that check the page in browsers (make lint says so, and what installs them)"
  mkdir -p .venv/typing
  ln -sfn ../.. .venv/typing/spanlab # see [tool.pyright] in pyproject.toml
  printf '%s %s' "$extras" "$key" >"$stamp"
  say "done"
}

# One set-up of this folder at a time: what a killed one has left at work ends first.
if command -v flock >/dev/null 2>&1; then
  exec 9<.
  flock -n 9 || { say "another set-up of this folder is at work; waiting for it"; flock 9; }
fi
system_libraries
python_packages
