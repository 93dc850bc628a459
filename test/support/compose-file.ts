import { parse } from 'yaml';

/** The fields of a compose file that the tests read. The schema has accepted it before. */
export interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes?: Record<string, unknown>;
}

export interface ComposeService {
  image?: string;
  build?: string;
  user?: string;
  init?: boolean;
  read_only?: boolean;
  tmpfs?: string[];
  command?: string[];
  profiles?: string[];
  restart?: string;
  stop_grace_period?: string;
  healthcheck?: { test: string[]; disable?: boolean };
  depends_on?: Record<string, { condition: string; required?: boolean }>;
  env_file?: { path: string; required?: boolean }[];
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
}

/** An image as it is called without a registry, `postgres:16.15` for `postgres:16.15@sha256:…`. */
export const withoutDigest = (image: string): string => image.replace(/@sha256:[0-9a-f]{64}$/, '');

/** Of one version. */
export const isPinned = (image: string): boolean => /^[a-z/-]+:\d+\.\d+[\w.-]*$/.test(withoutDigest(image));

export const parseCompose = (text: string): ComposeFile => parse(text, { merge: true });

export interface DockerStage {
  name?: string;
  image: string;
  /** The sources of its COPY instructions, and the stage they come from unless it is the repository. */
  copies: { sources: string[]; from?: string }[];
  /** Every other instruction; the last one of each kind counts. */
  instructions: Record<string, string>;
}

/** Supports only the syntax that our Dockerfile uses. */
export function parseDockerfile(text: string): DockerStage[] {
  const stages: DockerStage[] = [];
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, '');
  for (const [, instruction = '', rest = ''] of lines.matchAll(/^([A-Z]+) +(.*)$/gm)) {
    const words = rest.split(/ +/);
    if (instruction === 'FROM') {
      stages.push({ image: words[0] ?? '', name: words[2], copies: [], instructions: {} });
    } else if (instruction === 'COPY') {
      const from = /^--from=(.*)$/.exec(words[0] ?? '')?.[1];
      stages.at(-1)?.copies.push({ from, sources: words.slice(from === undefined ? 0 : 1, -1) });
    } else {
      const stage = stages.at(-1);
      if (stage) stage.instructions[instruction] = rest;
    }
  }
  return stages;
}
