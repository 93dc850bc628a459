import type { InterfaceDocument, Operation } from './interface-document';

/** The page has no script at all, and its one style sheet is that of the gateway. */
export const REFERENCE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type Schema = Record<string, unknown>;

/** The reference for people, made from the same document that programs read. */
export function renderReference(document: InterfaceDocument): string {
  const { info, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const links = operations.map(
    ({ path, method, operation }) =>
      html`<li><a href="#${anchorOf(operation)}"><code>${method.toUpperCase()} ${path}</code></a> ${operation.summary ?? ''}</li>`,
  );
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      html`<section id="schema-${name}"><h3><code>${name}</code></h3>${fieldsOf(schema)}${exampleOf(schema)}</section>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: reference</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="reference.css">
</head>
<body>
<header><h1>${info.title}</h1><p>${info.description ?? ''}</p>
<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI ${document.openapi}). <a href="./">The page</a>.</p></header>
<nav aria-label="Operations"><ul>${raw(links)}</ul></nav>
<main>
<h2>Operations</h2>
${raw(operations.map(renderOperation))}
<h2>Objects</h2>
${raw(schemas)}
</main>
</body>
</html>
`.text;
}

function renderOperation({
  path,
  method,
  operation,
}: {
  path: string;
  method: string;
  operation: Operation;
}): Html {
  const { summary = '', description = '', parameters = [], requestBody, responses } = operation;
  const rows = parameters.map(
    ({ name, in: place, required = false, description: meaning = '', schema }) =>
      html`<tr><td><code>${name}</code></td><td>${place}${required ? ', required' : ''}</td><td>${typeOf(schema)}</td><td>${meaning}</td></tr>`,
  );
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) => html`<p>Body, <code>${type}</code>: ${typeOf(schema)}</p>`,
  );
  const answers = Object.entries(responses).map(
    ([status, { description: meaning, content = {}, headers = {} }]) =>
      html`<tr><td><code>${status}</code></td><td>${meaning}</td><td>${raw(
        Object.entries(content).map(([type, { schema }]) => html`<code>${type}</code> ${typeOf(schema)} `),
      )}</td><td>${Object.keys(headers).join(', ')}</td></tr>`,
  );
  return html`<section id="${anchorOf(operation)}">
<h3><code>${method.toUpperCase()} ${path}</code></h3>
<p>${summary}. ${description}</p>
${rows.length > 0 ? html`<table><thead><tr><th>Parameter</th><th>Where</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${raw(rows)}</tbody></table>` : ''}
${raw(bodies)}
<table><thead><tr><th>Status</th><th>Meaning</th><th>Body</th><th>Headers</th></tr></thead><tbody>${raw(answers)}</tbody></table>
</section>
`;
}

const anchorOf = ({ operationId = '' }: Operation) => operationId;

function fieldsOf({ properties, required, anyOf }: Schema): Html {
  if (Array.isArray(anyOf)) return raw(anyOf.map((one) => fieldsOf(one)));
  const names: string[] = Array.isArray(required) ? required : [];
  const rows = Object.entries<Schema>(Object(properties)).map(
    ([name, schema]) =>
      html`<tr><td><code>${name}</code></td><td>${names.includes(name) ? 'always' : 'optional'}</td><td>${typeOf(schema)}</td><td>${String(schema.description ?? '')}</td></tr>`,
  );
  return html`<table><thead><tr><th>Field</th><th>Present</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${raw(rows)}</tbody></table>`;
}

function exampleOf({ examples }: Schema): Html {
  const [first]: unknown[] = Array.isArray(examples) ? examples : [];
  return first === undefined ? raw([]) : html`<pre tabindex="0">${JSON.stringify(first, undefined, 2)}</pre>`;
}

/** A type in a few words: `one of 480p, 720p, 1080p`. */
function typeOf(schema: Schema): Html {
  const { $ref: ref, anyOf, enum: values, const: only, type, items, properties } = schema;
  if (typeof ref === 'string') {
    const name = ref.replace(/^.*\//, '');
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(anyOf))
    return raw(anyOf.flatMap((one, index) => [...(index > 0 ? [html` or `] : []), typeOf(one)]));
  if (Array.isArray(values)) return html`one of ${values.join(', ')}`;
  if (only !== undefined) return html`${JSON.stringify(only)}`;
  if (type === 'array') return html`list of ${typeOf(Object(items))}`;
  if (properties !== undefined) return html`object with ${Object.keys(Object(properties)).join(', ')}`;
  const { minimum, maximum, pattern } = schema;
  const bounds = [
    isBound(minimum) && `at least ${minimum}`,
    isBound(maximum) && `at most ${maximum}`,
    typeof pattern === 'string' && `matches ${pattern}`,
  ].filter(Boolean);
  return html`${[String(type ?? 'anything'), ...bounds].join(', ')}`;
}

/** Every whole number of JavaScript is within these, which nobody needs to read. */
const isBound = (bound: unknown) => typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

/** Text that is safe to put between tags and into quoted attributes. */
class Html {
  constructor(readonly text: string) {}
}

const raw = (parts: readonly Html[]) => new Html(parts.map(({ text }) => text).join(''));

/** Escapes every value, except those made by itself. */
function html(strings: TemplateStringsArray, ...values: (string | Html)[]): Html {
  const parts = values.map((value) => (value instanceof Html ? value.text : escaped(value)));
  return new Html(String.raw({ raw: strings.map((part) => part) }, ...parts));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
