// Lets schemathesis call every route of a running gateway with valid and broken requests: `npm run schemathesis`, about
// 3 min. Arguments after `--` go to schemathesis, such as `-- --max-examples 500 --seed 7`.
require('../support/run-sources.cjs');
require('./schemathesis.ts')
  .main(process.argv.slice(2))
  .then(
    (code) => {
      process.exitCode = code;
    },
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exitCode = 1;
    },
  );
