# SpanLab with everything for models, analysis and studies in browsers; the window of the laboratory runs here at an invisible screen only.
# Written and linted, not yet built: see docs/packaging.md.
#
#   docker build -t spanlab .
#   docker run --rm -v "$PWD:/sessions" spanlab replay vsr --agent ideal --trials 20
FROM python:3.12-slim-bookworm

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libdbus-1-3 libegl1 libgl1 libgl1-mesa-dri libglu1-mesa libglx-mesa0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 \
        libxcb-keysyms1 libxcb-render-util0 libxcb-xkb1 libxkbcommon-x11-0 xauth xdotool xvfb \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 researcher

COPY . /opt/spanlab
RUN pip install --no-cache-dir -c /opt/spanlab/constraints.txt "/opt/spanlab[all]"

USER 1000
WORKDIR /sessions
ENTRYPOINT ["spanlab"]
CMD ["--help"]
