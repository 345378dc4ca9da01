#!/usr/bin/env bash
# Builds the final stage of the Dockerfile around a binary that is already there, pulling nothing, and runs it:
#
#   deploy/image.sh BINARY      needs root and Debian's buildah; make image builds the binary before
#
# The image is left in dist/image.tar, for "docker load" or "skopeo copy docker-archive:dist/image.tar …".
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${1:?usage: deploy/image.sh BINARY}
name=kafka_connection_exporter
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo dev)}
revision=${REVISION:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
certificates=${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}

command -v buildah >/dev/null || { echo "image.sh needs buildah (Debian: apt-get install buildah)" >&2; exit 1; }
if ldd "$binary" >/dev/null 2>&1; then
	echo "image.sh: $binary is not static, build it with CGO_ENABLED=0" >&2
	exit 1
fi

work=$(mktemp -d)
# Own storage, with plain copies instead of overlays, which need rights that containers lack.
buildah() { command buildah --storage-driver vfs --root "$work/root" --runroot "$work/run" "$@"; }
cleanup() {
	buildah rm --all >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT

# The paths of the first stage, as a folder, and the second stage, which copies from there.
mkdir -p "$work/context/etc/ssl/certs" "$work/context/src" dist
cp "$binary" "$work/context/$name"
cp "$certificates" "$work/context/etc/ssl/certs/ca-certificates.crt"
cp LICENSE "$work/context/src/"
sed -n '/^FROM scratch/,$ s/ --from=build / /p; /^FROM scratch/,$ {/ --from=build /!p}' Dockerfile >"$work/Dockerfile"

echo "== build"
buildah build --isolation chroot --quiet --tag "$name:$version" --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
	--file "$work/Dockerfile" "$work/context"
rm -f dist/image.tar
buildah push --quiet "$name:$version" "docker-archive:dist/image.tar:$name:$version"
buildah inspect --type image --format 'user {{.OCIv1.Config.User}}, entrypoint {{.OCIv1.Config.Entrypoint}}, ports {{.OCIv1.Config.ExposedPorts}}
labels {{.OCIv1.Config.Labels}}' "$name:$version"
ls -l dist/image.tar

echo "== run"
container=$(buildah from --pull-never "$name:$version")
if buildah run --isolation chroot "$container" -- "/$name" --version; then
	echo "== ran by buildah, as the image's user"
	exit
fi
# buildah run needs namespaces. The root file system of the image, its user and nothing else is what matters here.
echo "== buildah run does not work here; running in the image's root file system by chroot"
root=$(buildah mount "$container")
chroot --userspec=65532:65532 "$root" "/$name" --version
echo "== ran by chroot, as 65532"
