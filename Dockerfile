# syntax=docker/dockerfile:1
# The image of the server. docs/openenv.md explains how to build and run it.
#
#   docker build -t edgeworth .                                          with OpenEnv
#   docker build -t edgeworth --build-arg OPENENV=0 .                    300 MB less; sockets and /mcp still work
#   docker build -t edgeworth --build-arg TORCH=1 .                      with torch, for learned agents and models
#   docker run -p 127.0.0.1:8000:8000 -e EDGEWORTH_TOKENS=alice:SECRET -v edgeworth:/data edgeworth --behind-proxy
#   docker run -p 127.0.0.1:8000:8000 edgeworth --insecure               for this machine only, without tokens
#
# The base is an exact version of Python on an exact release of Debian, raised by hand; its maintainers rebuild that tag with Debian's security
# fixes, so build anew to get them. For the same bytes every time, add a digest: --build-arg PYTHON=3.11.14-slim-bookworm@sha256:…
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
ARG OPENENV=1
ARG TORCH=0
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN python -m venv /opt/edgeworth
ENV PATH=/opt/edgeworth/bin:$PATH

# Exact versions with hashes; nothing that is not listed is installed.
COPY docker/requirements*.txt docker/
RUN pip install --no-deps --require-hashes -r docker/requirements.txt
RUN if [ "$OPENENV" = 1 ]; then pip install --no-deps --require-hashes -r docker/requirements-openenv.txt; fi
RUN if [ "$TORCH" = 1 ]; then pip install --no-deps --require-hashes -r docker/requirements-learned.txt \
 && pip install --no-deps --index-url https://download.pytorch.org/whl/cpu -r docker/requirements-torch.txt; fi

COPY pyproject.toml README.md LICENSE NOTICE ./
COPY configs configs
COPY docs docs
COPY src src
RUN python -m venv /opt/builder \
 && /opt/builder/bin/pip install --no-deps --require-hashes -r docker/requirements-build.txt \
 && /opt/builder/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/wheels . \
 && pip install --no-deps --no-index /build/wheels/edgeworth-*.whl

# Compile the rules for any x86-64 processor, so that the first request does not wait for it.
ENV NUMBA_CPU_NAME=generic
RUN cd / && python -m edgeworth.games.bargaining.warm_up && python -m edgeworth.games.auction.warm_up

FROM python:${PYTHON}
RUN useradd --system --uid 10001 --home-dir /data --create-home edgeworth
COPY --from=build /opt/edgeworth /opt/edgeworth
ENV PATH=/opt/edgeworth/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CPU_NAME=generic \
    EDGEWORTH_PORT=8000 \
    EDGEWORTH_STORE=sqlite:////data/sessions.sqlite
WORKDIR /data
VOLUME /data
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"EDGEWORTH_PORT\"]}/health', timeout=4)"]
STOPSIGNAL SIGTERM
# The server listens on a public address, so it needs tokens (EDGEWORTH_TOKENS) and --behind-proxy after the image's name, or --insecure.
ENTRYPOINT ["edgeworth", "serve", "--host", "0.0.0.0"]
