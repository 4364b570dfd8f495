import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadConfig } from '@postern/gateway';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { isShortRun } from '@postern/testkit/run-size';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { documentedConfigs, shippedConfigs } from './support/documented-configs.ts';
import { filledConfig } from './support/filled-config.ts';
import { startDocumentedGateway } from './support/start-documented-gateway.ts';

const gatewayFolder = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), '..');
const schema = z
  .looseObject({ properties: z.record(z.string(), z.unknown()) })
  .parse(JSON.parse(readFileSync(join(gatewayFolder, 'postern.config.schema.json'), 'utf8')));
const validate = new Ajv2020({ strict: true, strictRequired: false, allErrors: true }).compile(schema);
const configs = [...shippedConfigs, ...documentedConfigs(new Set(Object.keys(schema.properties)))];

let redis: RedisServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-docs-'));
  redis = await startRedis();
});
afterAll(async () => {
  await redis?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

test('there are configurations', () => {
  expect(configs.length).toBeGreaterThan(20);
});

describe.each(configs.map(({ title, document }, nth) => [title, document, nth] as const))(
  '%s',
  (title, document, nth) => {
    test('is valid under the published schema', () => {
      validate(document);
      expect(validate.errors ?? []).toEqual([]);
    });

    // Every configuration goes through the same start: the short run starts some.
    if (isShortRun && nth % 4 !== 0) return;
    test('starts a gateway', async () => {
      const filled = filledConfig(document, folder);
      const path = join(folder, `${title.replaceAll(/\W/g, '-')}.yaml`);
      writeFileSync(path, JSON.stringify(filled.document));
      const { url, cluster, sentinel } = z
        .looseObject({ redis: z.looseObject({}).prefault({}) })
        .parse(filled.document).redis;
      // Examples of other settings name no Redis.
      const redisUrl = (url ?? cluster ?? sentinel) ? {} : { REDIS_URL: redis.url };
      const config = loadConfig(path, { ...filled.env, ...redisUrl });
      await using gateway = await startDocumentedGateway({
        ...config,
        // Replaces names and addresses of the example's network; everything else stays as written.
        listen: { host: '127.0.0.1', port: 0 },
        metrics: config.metrics === undefined ? undefined : { ...config.metrics, host: '127.0.0.1', port: 0 },
        console: config.console && { ...config.console, listen: { host: '127.0.0.1', port: 0 } },
        adminApi: config.adminApi && { host: '127.0.0.1', port: 0 },
        redis: {
          ...config.redis,
          url: redis.url,
          cluster: undefined,
          sentinel: undefined,
          tls: undefined,
          durability: { ...config.redis.durability, profile: 'single' },
          // Replaces the documented Redis.
          deployment: undefined,
        },
      });
      await expect.poll(async () => (await fetch(`${gateway.address}/readyz`)).status).toBe(200);
    });
  },
);
