# Stands in for the postgres image: Debian's PostgreSQL, set up as that image does it.
FROM videogen-stand-in:debian
RUN apt-get update -q \
    && apt-get install -qy --no-install-recommends postgresql \
    && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/*/main \
    && ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/ \
    && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data
COPY postgres-entrypoint.sh /usr/local/bin/
USER postgres
ENTRYPOINT ["postgres-entrypoint.sh"]
STOPSIGNAL SIGINT
