/** What the content policy of a service can refuse: a prompt, an image, or the finished video. */
export const CONTENT_STAGES = ['prompt', 'image', 'output'] as const;

/** One of CONTENT_STAGES. */
export type ContentStage = (typeof CONTENT_STAGES)[number];

/** What is known about content that a service refused. Whatever the service does not say is left out. */
export interface RefusedContent {
  /** What was refused. */
  stage?: ContentStage;
  /** The field of the request that was refused. */
  field?: string;
  /** Whether the service charged for it. */
  charged?: boolean;
}

/** The field of the request behind each stage. */
const FIELDS: Partial<Record<ContentStage, string>> = { prompt: 'prompt', image: 'image_url' };

const SUBJECTS: Record<ContentStage, string> = {
  prompt: 'the prompt',
  image: 'the image',
  output: 'the finished video',
};

export function isContentStage(stage: unknown): stage is ContentStage {
  return CONTENT_STAGES.some((known) => known === stage);
}

/** The field of the request that a stage is about; none for the finished video. */
export const fieldOfStage = (stage: ContentStage | undefined): string | undefined => stage && FIELDS[stage];

/** What was refused, as a sentence names it; undefined when the service does not say. */
export function refusedSubject({ stage, field }: RefusedContent): string | undefined {
  if (field !== undefined && !Object.values(FIELDS).includes(field)) return `the field ${field}`;
  return stage && SUBJECTS[stage];
}
