// What is exported is known when it is loaded and not before, which no `export` can say.
module.exports = require('./combine').combine(require('./no-host'), require('../../workflows'));
