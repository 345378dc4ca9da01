# Two stages: the first builds a static binary, the second holds it and nothing else but certificates and the licence.
# deploy/image.sh builds the second stage alone, on machines that cannot pull the image of the first.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG REVISION=unknown
RUN CGO_ENABLED=0 go build -trimpath -o /kafka_connection_exporter \
    -ldflags "-s -w -X github.com/prometheus/common/version.Version=${VERSION} -X github.com/prometheus/common/version.Revision=${REVISION}" .

FROM scratch
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kafka_connection_exporter" \
      org.opencontainers.image.description="One managed connection to every broker of a Kafka cluster, as Prometheus metrics" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /LICENSE
COPY --from=build /kafka_connection_exporter /kafka_connection_exporter
USER 65532:65532
EXPOSE 19308
ENTRYPOINT ["/kafka_connection_exporter"]
