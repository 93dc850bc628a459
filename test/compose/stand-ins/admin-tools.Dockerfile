# Stands in for temporalio/admin-tools: the SQL tool from the same Go module, its schemas, and Temporal's CLI.
FROM videogen-stand-in:debian
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
COPY temporal temporal-sql-tool /usr/local/bin/
COPY schema /etc/temporal/schema
USER temporal
CMD ["sleep", "infinity"]
