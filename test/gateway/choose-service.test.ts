import { chooseService } from '../../src/gateway/choose-service';
import { Refusal } from '../../src/gateway/http-errors';
import { takeJobOptions } from '../../src/gateway/job-options';
import { closedGateway } from './closed-gateway';

const services = {
  services: {
    fal: { profile: undefined, requestFields: ['loop'] },
    veo: { profile: undefined, requestFields: [] },
  },
  default: 'veo',
};

test('the field service chooses one, and is not sent to it', () => {
  const { body, options } = takeJobOptions({ prompt: 'A fox', service: 'fal', seed: 7 });
  expect(body).toEqual({ prompt: 'A fox', seed: 7 });
  expect(chooseService(options, undefined, services)).toEqual({
    options: { service: 'fal' },
    known: services.services.fal,
  });
});

test.each([
  ['the name of a service', 'fal', undefined, 'fal'],
  ['another word', 'sora-2', undefined, 'veo'],
  ['beside the field service', 'fal', 'veo', 'veo'],
  ['no text', 7, undefined, 'veo'],
])("a model of OpenAI's clients that is %s", (_what, model, service, chosen) => {
  const given = service === undefined ? {} : { service };
  expect(chooseService(given, model, services).options.service).toBe(chosen);
});

test.each([
  ['a list', ['fal', 'veo']],
  ['the text of a form', 'fal, veo'],
])('the field services as %s names those to try, with the fields of the first', (_what, given) => {
  const { body, options } = takeJobOptions({ prompt: 'A fox', services: given });
  expect(body).toEqual({ prompt: 'A fox' });
  expect(chooseService(options, 'veo', services)).toEqual({
    options: { services: ['fal', 'veo'] },
    known: services.services.fal,
  });
});

test.each([
  [
    'an unknown one',
    { services: ['fal', 'fall'] },
    'service is fall, which is not known: name one of fal, veo.',
  ],
  [
    'service beside them',
    { services: ['fal'], service: 'veo' },
    'a job names either service or services, and not both.',
  ],
])('services with %s are a 400', (_what, given, message) => {
  expect(() => chooseService(given, undefined, services)).toThrow(
    expect.objectContaining({ refused: expect.objectContaining({ message, param: 'services' }) }),
  );
});

test('a gateway without the file leaves the name to the workers', () => {
  expect(chooseService({ service: 'any' }, 'fal', undefined)).toEqual({ options: { service: 'any' } });
});

test('an unknown service is a 400 that lists the names, and the description lists them too', async () => {
  expect(() => chooseService({ service: 'fall' }, undefined, services)).toThrow(Refusal);
  const { app } = await closedGateway({ services });
  try {
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/videos',
      headers: { host: '127.0.0.1' },
      payload: { prompt: 'A fox', service: 'fall' },
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({
      error: {
        param: 'service',
        message: expect.stringContaining('service is fall, which is not known: name one of fal, veo.'),
      },
    });
    const { components } = (
      await app.inject({ url: '/openapi.json', headers: { host: '127.0.0.1' } })
    ).json();
    expect(components.schemas.CreateVideo.properties.service).toMatchObject({ enum: ['fal', 'veo'] });
  } finally {
    await app.close();
  }
});
