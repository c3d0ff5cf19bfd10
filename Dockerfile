# syntax=docker/dockerfile:1
# SPDX-License-Identifier: Apache-2.0
# Demo and kernel from a wheel: `make wheels && docker build -t lastgate .`; nothing is compiled here.
#   docker run --rm lastgate demo --headless --seconds 10
#   docker run --rm --ipc=host -v "$PWD/state:/state" lastgate kernel run --robot franka_panda
FROM python:3.12-slim
RUN --mount=type=bind,source=dist,target=/dist \
    pip install --no-cache-dir --only-binary lastgate --find-links /dist 'lastgate[demo]' \
    && useradd robot && mkdir /state && chown robot /state
# The latch must outlive the container: mount /state.
ENV LASTGATE_STATE_DIR=/state
VOLUME /state
USER robot
WORKDIR /state
ENTRYPOINT ["lastgate"]
CMD ["doctor"]
