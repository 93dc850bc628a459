# Stands in for temporalio/server: the same program, built from its Go module, on Debian.
FROM videogen-stand-in:debian
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
COPY temporal-server /usr/local/bin/
COPY temporal-entrypoint.sh /etc/temporal/entrypoint.sh
WORKDIR /etc/temporal
USER temporal
CMD ["/etc/temporal/entrypoint.sh"]
