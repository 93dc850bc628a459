// CommonJS, because the names of the exports are known only when the host's module has run. bundle.ts says the rest.
module.exports = require('./combine-workflows').combine(require('./no-host'), require('../../workflows'));
