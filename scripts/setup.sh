#!/usr/bin/env bash
# Everything that SpanLab needs on this machine: system libraries, a virtual environment in .venv, the packages in their tested versions.
# Does nothing, in a fraction of a second, when all of it is there already.
#
#   PYTHON=/path/to/python3.12 scripts/setup.sh     to choose the Python (3.11 or 3.12)
set -euo pipefail
cd "$(dirname "$0")/.."

# Runs a command; what it says is shown only when it fails.
quietly() {
  local log
  log="$(mktemp)"
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
}

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
python_packages() {
  local key stamp=.venv/.set-up
  key="$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum) $PWD ${PYTHON:-}"
  if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$key" ] && .venv/bin/python -c '' 2>/dev/null; then return 0; fi

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
  say "installing the packages (the first time: several minutes, 3 GB, or 7 GB where torch comes with CUDA) ..."
  quietly .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' ||
    fail "the packages could not be installed; see pip's message above (most often: no network)"
  # the scripted chat server of the demonstration and of tests, in an environment of its own
  .venv/bin/python -c 'from spanlab.agents.chat.scripted_server import install; install()' ||
    say "going on without the scripted chat server; the demonstration will try again"
  mkdir -p .venv/typing
  ln -sfn ../.. .venv/typing/spanlab # see [tool.pyright] in pyproject.toml
  printf '%s' "$key" >"$stamp"
  say "done"
}

system_libraries
python_packages
