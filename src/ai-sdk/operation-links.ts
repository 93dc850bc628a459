import { isObject } from '../service/answer-paths';

/** Stands for the model's own address when a text is read as a path. RFC 2606 reserves the name. */
const OWN = new URL('https://own.invalid/');

/** What a `fetch` may read. Other schemes, as in `urn:task:7`, are ids. */
const READABLE = ['http:', 'https:', 'data:', 'blob:', 'file:', 'ftp:', 'ws:', 'wss:'];

/** The links in an operation that a model could call, wherever in it they are. */
export function linksIn(operation: unknown): URL[] {
  return [...textsIn(operation)].flatMap((text) => linkOf(text) ?? []);
}

/**
 * Whether an operation has a link that opens something for whoever has it: one with a query, a password, a fragment or a
 * parameter in its path. Ids in paths are no secrets: nobody can use them without the key.
 */
export function hasSignedLink(operation: unknown): boolean {
  return [...textsIn(operation)].some((text) => {
    const link = linkOf(text);
    const url = link ?? parse(text, OWN.href);
    if (url && [...url.searchParams.values()].some((value) => value !== '')) return true;
    return link !== undefined && (link.username + link.password + link.hash !== '' || hasParameter(link));
  });
}

const hasParameter = ({ pathname }: URL) => /;[^/]*=/.test(pathname);

/** Every text in an operation, and those in a text that is JSON itself. Not recursive: others write operations. */
function* textsIn(operation: unknown): Generator<string> {
  const rest = [operation];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string') {
      yield value;
      rest.push(jsonIn(value));
    } else if (Array.isArray(value) || isObject(value)) {
      for (const inner of Object.values(value)) rest.push(inner);
    }
  }
}

function jsonIn(text: string): unknown {
  if (!/^\s*[{["]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The link that a text is; undefined for an id, and for a path that stays at the model's own address. */
function linkOf(text: string): URL | undefined {
  const link = parse(text);
  if (link) return READABLE.includes(link.protocol) ? link : undefined;
  // `//host/path` has no scheme and leads elsewhere all the same.
  const beside = parse(text, OWN.href);
  return beside && beside.host !== OWN.host ? beside : undefined;
}

function parse(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}
