import { Ajv2020 } from 'ajv/dist/2020';

interface Media {
  /** Of server-sent events: each as an object, whose data is described by `contentSchema`. */
  schema?: { properties?: { data?: { contentSchema?: object } } };
}

interface DocumentedAnswer {
  content?: Record<string, Media>;
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, DocumentedAnswer> }>>;
}

interface GivenAnswer {
  method: string;
  /** As fastify writes it: /v1/videos/:id */
  route: string;
  status: number;
  headers: Readonly<Record<string, unknown>>;
}

/** The headers that answers have to have, besides the id of the call, by status. */
const HEADERS: Readonly<Record<number, readonly string[]>> = {
  206: ['etag', 'accept-ranges', 'content-range'],
  304: ['etag'],
  401: ['www-authenticate'],
  429: ['retry-after'],
  503: ['retry-after'],
};

/** Compares answers with an OpenAPI document. */
export class AnswerChecker {
  private readonly ajv = new Ajv2020({ strict: false, validateFormats: false });
  private readonly document: Document;

  constructor(document: object) {
    const json = JSON.stringify(document);
    this.ajv.addSchema(JSON.parse(json), 'doc');
    // References of the document begin at its root.
    this.document = JSON.parse(json.replaceAll('"#/', '"doc#/'));
  }

  problemsWith(answer: GivenAnswer, body: string | undefined): string[] {
    const { method, route, status, headers } = answer;
    if (method === 'OPTIONS') return [];
    const name = `${method} ${route} ${status}`;
    const documented = this.find(answer);
    if (documented === undefined) return [`${name} is not in the document`];
    const missing = ['x-request-id', ...(HEADERS[status] ?? [])]
      .filter((header) => headers[header] === undefined)
      .map((header) => `${name} lacks ${header}`);
    if (method === 'HEAD') return missing;
    if (documented.content === undefined) return body === '' ? missing : [...missing, `${name} has a body`];
    const type = String(headers['content-type']).replace(/;.*/, '');
    const media = mediaOf(documented.content, type);
    if (media === undefined)
      return [...missing, `${name} has a body of ${type}, which is not in the document`];
    if (type !== 'application/json') return missing;
    return [...missing, ...this.problemsOf(name, media.schema, body ?? '')];
  }

  /** A piece of a stream: each event and its data must fit. */
  problemsWithEvents(answer: GivenAnswer, text: string): string[] {
    const name = `${answer.method} ${answer.route} ${answer.status}`;
    const { schema } = this.find(answer)?.content?.['text/event-stream'] ?? {};
    if (schema === undefined) return [`${name} sends events, which are not in the document`];
    const events = text.split('\n\n').filter((block) => /^data: /m.test(block));
    return events.flatMap((block) => {
      const event = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
      return [
        ...this.problemsOf(name, schema, JSON.stringify(event)),
        ...this.problemsOf(name, schema.properties?.data?.contentSchema, event.data),
      ];
    });
  }

  /** HEAD is documented where it differs; elsewhere it is GET without a body. */
  private find({ method, route, status }: GivenAnswer): DocumentedAnswer | undefined {
    const operations = this.document.paths[route.replace(/:([^/]+)/g, '{$1}')];
    const operation = operations?.[method.toLowerCase()] ?? (method === 'HEAD' ? operations?.get : undefined);
    return operation?.responses[status] ?? (status >= 400 ? operation?.responses.default : undefined);
  }

  private problemsOf(name: string, schema: object | undefined, json: string): string[] {
    if (schema === undefined) return [`${name} has no schema`];
    const validate = this.ajv.compile(schema);
    try {
      if (validate(JSON.parse(json))) return [];
    } catch (error) {
      return [`${name} is not JSON: ${error} ${json.slice(0, 200)}`];
    }
    return [`${name} does not fit: ${this.ajv.errorsText(validate.errors)} ${json.slice(0, 500)}`];
  }
}

function mediaOf(content: Record<string, Media>, type: string): Media | undefined {
  return content[type] ?? content[type.replace(/\/.*/, '/*')];
}
