import type { ServiceProfile } from './profile';

/** Profiles by name, for services that the default rules do not read completely or that can cancel a task. */
export const BUILT_IN_PROFILES = {
  ark: { name: 'BytePlus Ark', cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } },
  fal: { name: 'fal', refusals: { failed: [422] } },
  higgsfield: {
    name: 'Higgsfield',
    refusals: {
      limited: [{ status: 400, says: 'concurren' }],
      content: [{ states: ['nsfw'], charged: false }],
    },
  },
  kie: { name: 'Kie', refusals: { codes: { 400: 400, 401: 401, 404: 404, 422: 422, 429: 429 } } },
  kling: { name: 'Kling', refusals: { content: [{ codes: [1301] }] } },
  luma: { name: 'Luma', cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } },
  runway: {
    name: 'Runway',
    cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' },
    refusals: { content: [{ codes: ['SAFETY.*'], charged: true }] },
    polling: { min: '5s' },
  },
  openai: { name: 'OpenAI videos', video: { path: '/v1/videos/{taskId}/content' } },
  minimax: {
    name: 'MiniMax v1',
    refusals: {
      codes: { 1002: 429, 1004: 401, 2013: 400 },
      content: [{ codes: [1026] }, { codes: [1027], stage: 'output' }],
    },
    video: { id: 'file_id', path: '/v1/files/retrieve?file_id={fileId}', link: 'file.download_url' },
  },
  pixverse: {
    name: 'PixVerse',
    read: {
      within: 'Resp',
      taskId: ['video_id', 'id'],
      state: 'status',
      video: 'url',
      code: 'ErrCode',
      message: 'ErrMsg',
    },
    states: { succeeded: [1], running: [5], failed: [7, 8] },
    refusals: { codes: { 10005: 401, 400017: 400, 400018: 404, 500044: 429 }, content: [{ states: [7] }] },
  },
  wavespeed: { name: 'WaveSpeed', refusals: { content: [{ codes: [1200] }] } },
} as const satisfies Record<string, ServiceProfile>;

export type BuiltInProfile = keyof typeof BUILT_IN_PROFILES;

export function builtInProfile(name: string): ServiceProfile | undefined {
  return Object.entries<ServiceProfile>(BUILT_IN_PROFILES).find(([known]) => known === name)?.[1];
}
