import { z } from 'zod';

/** An answer that is not JSON: a video, a stream, or no body at all. */
export interface Answer {
  description: string;
  /** What each header says, by its name. */
  headers?: Readonly<Record<string, string>>;
  content?: Record<string, { schema: Record<string, unknown> }>;
}

/** The parts of the document that we complete and show. */
const schemaObject = z.record(z.string(), z.unknown());
const answerObject = z.looseObject({
  description: z.string(),
  headers: z.record(z.string(), z.unknown()).optional(),
  content: z
    .record(z.string(), z.looseObject({ schema: schemaObject, example: z.unknown().optional() }))
    .optional(),
});
const operationObject = z.looseObject({
  operationId: z.string().optional(),
  summary: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  security: z.array(z.unknown()).optional(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        description: z.string().optional(),
        schema: schemaObject,
      }),
    )
    .optional(),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: schemaObject })) })
    .optional(),
  responses: z.record(z.string(), answerObject),
  'x-answers': z.custom<Record<string, Answer>>().optional(),
  'x-head': z.boolean().optional(),
});
const documentObject = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string().optional() }),
  paths: z.record(z.string(), z.record(z.string(), operationObject)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaObject) }),
});

export type DocumentedAnswer = z.infer<typeof answerObject>;
export type InterfaceDocument = z.infer<typeof documentObject>;
export type Operation = z.infer<typeof operationObject>;

export const parseDocument = (document: unknown): InterfaceDocument => documentObject.parse(document);
