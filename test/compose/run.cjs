// Runs docker-compose.yml and kills each container with a job under way: `npm run compose:try`, about 8 min.
require('../support/run-sources.cjs');
require('./try-compose.ts')
  .main(process.argv.slice(2))
  .catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
