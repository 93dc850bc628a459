# Stands in for temporalio/ui: the same program, built from its Go module, on Debian.
FROM videogen-stand-in:debian
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
WORKDIR /home/ui-server
COPY ui-server ./
COPY config ./config
USER temporal
ENTRYPOINT ["./ui-server", "--env", "docker", "start"]
