/**
 * `npm run images:pin` writes into Dockerfile and docker-compose.yml which digest each image has today, so that nobody can put another
 * one under its tag. It asks the registries, with Docker's buildx. Dependabot raises a digest together with its tag afterwards.
 * `-- --remove` takes the digests out, for a machine without a registry.
 */
const { execFileSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');

const FILES = ['Dockerfile', 'docker-compose.yml'];
/** The images of others; a stage of the Dockerfile and our own image have no version in their names. */
const IMAGE = /^((?:FROM| *image:) +)([\w./-]+:\d[\w.-]*)(?:@sha256:[0-9a-f]{64})?(?=\s|$)/gm;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const digests = new Map();

/** The digest of the image for all platforms. */
function digestOf(image) {
  const known = digests.get(image);
  if (known !== undefined) return known;
  const args = ['buildx', 'imagetools', 'inspect', image, '--format', '{{.Manifest.Digest}}'];
  const digest = execFileSync('docker', args, { encoding: 'utf8' }).trim();
  if (!DIGEST.test(digest)) throw new Error(`${image} has no digest: docker says ${JSON.stringify(digest)}`);
  digests.set(image, digest);
  process.stdout.write(`${image} ${digest}\n`);
  return digest;
}

const isRemoved = process.argv.includes('--remove');
const nameOf = (image) => (isRemoved ? image : `${image}@${digestOf(image)}`);
// All digests are known before a file changes.
const texts = FILES.map((file) =>
  readFileSync(file, 'utf8').replaceAll(IMAGE, (_line, start, image) => `${start}${nameOf(image)}`),
);
for (const [index, file] of FILES.entries()) writeFileSync(file, texts[index]);
