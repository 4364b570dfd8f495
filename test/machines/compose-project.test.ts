import { expect, test } from 'vitest';
import { readComposeProject } from './compose-project.ts';
import { exampleValues } from './example-values.ts';

const FILES = ['docker-compose.yml', 'infra/compose.ha.yml'];
const { values, apiKey } = exampleValues('infra/.env.example');
const filledIn = { ...values, ...exampleValues('infra/.env.ha.example').values };

test('the commands in infra/.env.example print values of the documented format', () => {
  expect(values).toMatchObject({
    REDIS_PASSWORD: expect.stringMatching(/^[0-9a-f]{64}$/),
    ISSUE_TRACKER_API_KEY_HASH: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
  expect(Buffer.from(values['POSTERN_VAULT_KEY'] ?? '', 'base64')).toHaveLength(32);
  expect(apiKey).toMatch(/^[0-9a-f]{64}$/);
});

test('the values of infra/.env.example fill in docker-compose.yml', () => {
  const { gateway, redis } = readComposeProject(['docker-compose.yml'], values);
  expect(gateway?.environment['REDIS_URL']).toBe(`redis://postern:${values['REDIS_PASSWORD']}@redis:6379`);
  expect(redis?.environment['REDIS_PASSWORD']).toBe(values['REDIS_PASSWORD']);
  expect(redis?.command).not.toContain(values['REDIS_PASSWORD']);
});

test('infra/compose.ha.yml replaces the Redis, the configuration and the dependencies of the gateway', () => {
  const services = readComposeProject(FILES, filledIn);
  expect(services).not.toHaveProperty('redis');
  expect(services['gateway']).toMatchObject({
    volumes: ['./infra/postern.ha.config.yaml:/etc/postern/postern.config.yaml:ro'],
    environment: { REDIS_URL: '', POSTERN_VAULT_KEY: values['POSTERN_VAULT_KEY'] },
  });
  expect(Object.keys(services['gateway']?.depends_on ?? {})).toEqual(['sentinel-1', 'redis-2']);
});

test.each(['POSTERN_VAULT_KEY', 'REDIS_PASSWORD', 'GITHUB_CLIENT_ID'])('an empty %s stops Compose', name => {
  expect(() => readComposeProject(['docker-compose.yml'], { ...values, [name]: '' })).toThrow(name);
});

test.each(['REDIS_REPLICA_PASSWORD', 'REDIS_SENTINEL_PASSWORD'])('an empty %s stops Compose with the HA file', name => {
  expect(() => readComposeProject(FILES, { ...filledIn, [name]: '' })).toThrow(name);
});

test('infra/demo.env fills in docker-compose.yml', () => {
  expect(readComposeProject(['docker-compose.yml'], exampleValues('infra/demo.env').values)).toHaveProperty('demo');
});
