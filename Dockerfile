# Debian, because the Temporal SDK's native core needs glibc: it does not load on Alpine.
FROM node:22.23.1-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script, and none gets to run one.
RUN npm ci --ignore-scripts

FROM packages AS build
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY scripts ./scripts
RUN npm run build

FROM packages AS runtime
COPY scripts ./scripts
RUN node scripts/runtime-packages.cjs

FROM node:22.23.1-bookworm-slim
LABEL org.opencontainers.image.title="temporal-videogen" \
      org.opencontainers.image.description="Video generation as a durable Temporal workflow: one verified file or one explained failure." \
      org.opencontainers.image.licenses="MIT"
# glibc keeps memory for each thread that has ever asked for some: with two such pools, a worker takes 60 to 100 MB less.
ENV NODE_ENV=production VIDEOGEN_STORAGE=/videos MALLOC_ARENA_MAX=2
# The worker's native core connects to Temporal by TLS with the root certificates of the system, and the slim image has none.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
WORKDIR /app
# A new volume takes over the owner of the folder that it is mounted on.
RUN install -d -o node -g node /videos /keys /tasks
COPY --from=runtime /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
# The user `node` of the image, as numbers: that it is not root can be checked without looking into the image.
USER 1000:1000
# No shell between Docker and Node, for a shell keeps SIGTERM to itself: the worker would be killed in the middle of a
# submit instead of awaiting the answer that names a paid task.
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
# No HEALTHCHECK: a worker listens on nothing, and one that cannot work any more ends, for a restart policy to see.
CMD ["worker"]
