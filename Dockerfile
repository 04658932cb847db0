# syntax=docker/dockerfile:1

# One image for the API, the worker and the command line, which are one build: the
# commit that Go stamps into each of them. So the context needs its .git, and
# .dockerignore must leave out nothing that is checked in.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -buildvcs=true -trimpath -ldflags="-s -w" -o /out/ ./cmd/api ./cmd/worker ./cmd/holdfast
# A build without a name could not be told from another, and no plan could name it.
RUN go version -m /out/api | grep -q vcs.revision

# Nothing but the binaries and whom they trust: no shell, no package, no user to
# become. Time zones are not needed, since all times are UTC.
FROM scratch
LABEL org.opencontainers.image.title="Holdfast" \
      org.opencontainers.image.description="The API (api), the worker (worker) and the operator's command line (holdfast)"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# Certificates of databases, for sslrootcert=/etc/holdfast/trust/NAME.pem.
COPY deploy/image/trust/ /etc/holdfast/trust/
COPY --from=build /out/ /usr/local/bin/
USER 65532:65532
EXPOSE 8080
# Life and not readiness: who restarts a container because its database is away only
# makes it worse. Of the worker it is http://127.0.0.1:9091/livez.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["/usr/local/bin/holdfast", "probe", "http://127.0.0.1:8080/livez"]
CMD ["/usr/local/bin/api"]
