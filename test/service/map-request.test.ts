import type { VideoRequest } from '../../src/contract/request';
import { mapRequest, parseProfile, type ServiceProfile } from '../../src/service';

const FOX: VideoRequest = { prompt: 'A red fox' };
const IMAGE = 'https://example.com/fox.png';

/** The body for a request, with a profile as a file has it. */
function bodyOf(request: ServiceProfile['request'], given: object, requestFields?: string[]): unknown {
  const mapped = mapRequest(checked({ request, requestFields }), given as VideoRequest);
  if (!mapped.ok) throw new Error(mapped.problem);
  return JSON.parse(JSON.stringify(mapped.body));
}

function checked(given: unknown): ServiceProfile {
  const parsed = parseProfile(JSON.parse(JSON.stringify(given)));
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.profile;
}

const problemOf = (request: ServiceProfile['request'], given: VideoRequest, name?: string) => {
  const mapped = mapRequest(checked({ name, request }), given);
  return mapped.ok ? undefined : [mapped.field, mapped.problem];
};

it('without a request in the profile, a request is sent as it was written', () => {
  const given = { ...FOX, duration: 5 };
  expect(mapRequest({}, given)).toEqual({ ok: true, body: given });
  expect(bodyOf({}, given)).toEqual(given);
});

describe('a field', () => {
  it('goes to its place, under another name, in an object or in a list', () => {
    const fields = {
      duration: { to: 'input.seconds' },
      prompt: { to: 'instances[0].prompt' },
      seed: { to: 'no' },
    };
    expect(bodyOf({ fields }, { ...FOX, duration: 5, seed: 7 })).toEqual({
      input: { seconds: 5 },
      instances: [{ prompt: 'A red fox' }],
      no: 7,
    });
  });

  it('keeps its name if it is not named, whatever it holds, and all such fields can be in one object', () => {
    expect(bodyOf({ within: 'input' }, { ...FOX, loras: [{ path: 'a' }] }, ['loras'])).toEqual({
      input: { prompt: 'A red fox', loras: [{ path: 'a' }] },
    });
    expect(bodyOf({ fields: { seed: { to: 'no' } } }, { ...FOX, seed: 7 })).toEqual({
      prompt: 'A red fox',
      no: 7,
    });
  });

  it('has the words of the service, numbers as text among them', () => {
    const fields = {
      duration: { as: '{value}s' },
      seed: { as: '{value}' },
      resolution: { to: 'size', values: { '720p': '1280x720', '1080p': null } },
    };
    expect(bodyOf({ fields }, { ...FOX, duration: 5, seed: 7, resolution: '720p' })).toEqual({
      prompt: 'A red fox',
      duration: '5s',
      seed: '7',
      size: '1280x720',
    });
  });

  it('is sent as text exactly, even if it contains the signs of a replacement', () => {
    expect(bodyOf({ fields: { prompt: { as: 'Video: {value}' } } }, { prompt: 'costs $& and $1' })).toEqual({
      prompt: 'Video: costs $& and $1',
    });
  });

  it('that is missing gets the default of the service’s own words, and another is left out', () => {
    const fields = { duration: { values: { 5: '5s' }, default: '9s' }, seed: { to: 'no' } };
    expect(bodyOf({ fields }, FOX)).toEqual({ prompt: 'A red fox', duration: '9s' });
    expect(bodyOf({ fields }, { ...FOX, duration: 5 })).toEqual({ prompt: 'A red fox', duration: '5s' });
  });

  it('can go into one value with another, whether a request has both, one or none of them', () => {
    const fields = {
      resolution: {
        to: 'size',
        with: ['aspect_ratio'],
        values: { '720p 9:16': '720x1280', '9:16': '720x1280', '720p': '1280x720' },
      },
    };
    const size = (given: Partial<VideoRequest>) =>
      Reflect.get(Object(bodyOf({ fields }, { ...FOX, ...given })), 'size');
    expect(size({ resolution: '720p', aspect_ratio: '9:16' })).toBe('720x1280');
    expect(size({ aspect_ratio: '9:16' })).toBe('720x1280');
    expect(size({ resolution: '720p' })).toBe('1280x720');
    expect(size({})).toBeUndefined();
    expect(problemOf({ fields }, { ...FOX, resolution: '720p', aspect_ratio: '1:1' }, 'Foxes')).toEqual([
      'resolution',
      'resolution and aspect_ratio must be one of 720p 9:16, 9:16, 720p for Foxes (was "720p 1:1")',
    ]);
  });
});

describe('a request is refused, and nothing is sent,', () => {
  it('if a value has no row, with the values that there are', () => {
    const fields = { resolution: { values: { '480p': 'sd', '720p': 'hd' } } };
    expect(problemOf({ fields }, { ...FOX, resolution: '1080p' }, 'Foxes')).toEqual([
      'resolution',
      'resolution must be one of 480p, 720p for Foxes (was "1080p")',
    ]);
  });

  it.each(['constructor', '__proto__', 'toString'])('if the value is %s, which every object has', (value) => {
    const fields = { prompt: { values: { fox: 'Fox' } } };
    expect(problemOf({ fields }, { prompt: value })?.[1]).toContain('prompt must be one of fox');
  });

  it('if the service does not take the field', () => {
    expect(problemOf({ fields: { seed: { to: null } } }, { ...FOX, seed: 0 })).toEqual([
      'seed',
      'seed is not taken by the service: leave it out',
    ]);
    expect(bodyOf({ fields: { seed: { to: null } } }, FOX)).toEqual(FOX);
  });

  it('if an object stands where the service wants a word', () => {
    const profile = checked({ requestFields: ['style'], request: { fields: { style: { as: '{value}' } } } });
    expect(mapRequest(profile, { ...FOX, style: {} } as VideoRequest)).toMatchObject({
      ok: false,
      problem: 'style must be a text or a number for the service',
    });
  });
});

it('constants are sent with every request, and each operation can have its own', () => {
  const request = {
    constants: { 'content[0].type': 'text', 'extra.audio': false },
    fields: { prompt: { to: 'content[0].text' }, seed: { to: 'no' } },
    imageToVideo: {
      constants: { 'content[1].type': 'image_url', 'extra.audio': true },
      fields: { image_url: { to: 'content[1].image_url.url' }, seed: { to: null } },
    },
  };
  expect(bodyOf(request, { ...FOX, seed: 7 })).toEqual({
    content: [{ type: 'text', text: 'A red fox' }],
    extra: { audio: false },
    no: 7,
  });
  expect(bodyOf(request, { ...FOX, image_url: IMAGE })).toEqual({
    content: [
      { type: 'text', text: 'A red fox' },
      { type: 'image_url', image_url: { url: IMAGE } },
    ],
    extra: { audio: true },
  });
  expect(problemOf(request, { ...FOX, image_url: IMAGE, seed: 7 })?.[0]).toBe('seed');
});

it('entries of a list that get no value leave no hole', () => {
  const fields = { seed: { to: 'parts[0].seed' }, prompt: { to: 'parts[1].text' } };
  expect(bodyOf({ fields }, FOX)).toEqual({ parts: [{ text: 'A red fox' }] });
});

it('a field of the profile with a hostile name changes nothing else', () => {
  const given = JSON.parse('{"prompt":"A red fox","__proto__":{"polluted":1},"a.b":2}');
  const mapped = mapRequest({ requestFields: ['__proto__', 'a.b'], request: { within: 'input' } }, given);
  expect(JSON.stringify(mapped.ok && mapped.body)).toBe(
    '{"input":{"prompt":"A red fox","__proto__":{"polluted":1},"a.b":2}}',
  );
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});
