/** Every route of /openapi.json with its fields and answers, in the words of that document. */

const reference = document.querySelector('#reference');
const introduction = document.querySelector('#introduction');

const copyOf = (template) => document.querySelector(template).content.cloneNode(true);

/** The schema behind a reference, or itself. */
const found = (schema, { components }) =>
  schema?.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1)];

function typeOf(schema, api) {
  const { type = 'anything', enum: values, const: value, items, anyOf, ...limits } = found(schema, api) ?? {};
  if (value !== undefined) return JSON.stringify(value);
  if (values) return values.map((one) => JSON.stringify(one)).join(', ');
  if (anyOf) return anyOf.map((one) => typeOf(one, api)).join(' or ');
  if (items) return `list of ${typeOf(items, api)}`;
  return [[type].flat().join(' or '), ...limitsOf(limits)].join(', ');
}

/** Whole numbers are at most as large as JavaScript counts, which nobody needs to read. */
const limitsOf = ({ minimum, maximum, default: usual }) => [
  ...(Number.isSafeInteger(minimum - 1) ? [`from ${minimum}`] : []),
  ...(Number.isSafeInteger(maximum + 1) ? [`at most ${maximum}`] : []),
  ...(usual === undefined ? [] : [`${usual} if left out`]),
];

/** A field inside an object is named with it, as `error.code`. Only a union of objects has several of one name. */
function fieldsOf(schema, api, prefix = '') {
  const { properties = {}, required = [], anyOf = [] } = found(schema, api) ?? {};
  const own = Object.entries(properties).flatMap(([name, field]) => {
    const isNeeded = required.includes(name) && prefix === '';
    const { description = '' } = { ...found(field, api), ...field };
    const row = { name: `${prefix}${name}`, type: typeOf(field, api), description, isNeeded };
    return [row, ...fieldsOf(field, api, `${prefix}${name}.`)];
  });
  return [...own, ...anyOf.flatMap((one) => fieldsOf(one, api, prefix))];
}

function tableOf(title, rows, showsNeeded) {
  const part = copyOf('#fields');
  part.querySelector('caption').textContent = title;
  for (const { name, type, description, isNeeded } of rows) {
    const row = part.querySelector('tbody').insertRow();
    const code = document.createElement('code');
    code.textContent = name;
    row.insertCell().append(code, showsNeeded && isNeeded ? ' (required)' : '');
    row.insertCell().textContent = type;
    row.insertCell().textContent = description;
  }
  if (rows.length === 0) part.querySelector('thead').remove();
  return part;
}

function operationOf(method, path, operation, api) {
  const part = copyOf('#operation');
  const card = part.querySelector('details');
  card.id = operation.operationId;
  part.querySelector('code').textContent = `${method.toUpperCase()} ${path}`;
  part.querySelector('span').textContent = operation.summary;
  part.querySelector('p').textContent = operation.description ?? '';
  const parameters = (operation.parameters ?? []).map(
    ({ name, in: place, schema, description = '', required }) => ({
      name,
      type: typeOf(schema, api),
      description: `${description} (${place})`.trim(),
      isNeeded: required,
    }),
  );
  if (parameters.length > 0) card.append(tableOf('Parameters', parameters, true));
  const bodies = Object.entries(operation.requestBody?.content ?? {});
  if (bodies.length > 0) {
    const types = bodies.map(([type]) => type).join(' or ');
    card.append(tableOf(`Body: ${types}`, fieldsOf(bodies[0][1].schema, api), true));
  }
  for (const [status, { description, content = {} }] of Object.entries(operation.responses)) {
    const [[type, { schema }] = ['no body', {}]] = Object.entries(content);
    // An error describes itself. What the document says of the usual answer is no news.
    const isUsual = status === '200' && type === 'application/json';
    const words =
      status === 'default' ? description : `Answer ${status}: ${type}${isUsual ? '' : `. ${description}`}`;
    card.append(tableOf(words, fieldsOf(schema, api), false));
  }
  return part;
}

async function show() {
  const answer = await fetch('openapi.json');
  if (!answer.ok) throw new Error(`openapi.json was answered with HTTP ${answer.status}.`);
  const api = await answer.json();
  introduction.textContent = api.info.description;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  // Last: what it is for is the others.
  const isOfGateway = ({ operation }) => Number(operation.tags[0] === 'Gateway');
  operations.sort((a, b) => isOfGateway(a) - isOfGateway(b));
  for (const tag of new Set(operations.map(({ operation }) => operation.tags[0]))) {
    const title = document.createElement('h2');
    title.textContent = tag;
    reference.append(title);
    for (const { method, path, operation } of operations)
      if (operation.tags[0] === tag) reference.append(operationOf(method, path, operation, api));
  }
  const named = document.getElementById(location.hash.slice(1));
  named?.setAttribute('open', '');
  named?.scrollIntoView();
}

show().catch(({ message }) => {
  introduction.textContent = `The API cannot be shown. ${message}`;
});
