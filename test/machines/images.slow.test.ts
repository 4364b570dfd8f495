/**
 * The images and the Compose files, without a container engine: every step of infra/Dockerfile runs in a copy of the build context,
 * in a minimal Debian with Node.js; the services run in folders, as the Compose files say. Node.js and Redis are those of the npm
 * package and of Debian, in the place of the official images.
 */
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { startFakeKms, startFakeTransit } from '@postern/testkit/key-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { blocksIn } from '../docs/support/doc-blocks.ts';
import { startNetwork, whyNoNamespaces } from '../faults/support/namespaces.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';
import { copyContext } from './build-context.ts';
import { readComposeProject } from './compose-project.ts';
import { runProgram, userOf, whyNoDebianFolders } from './debian-folder.ts';
import { readDockerfile } from './dockerfile.ts';
import { exampleValues } from './example-values.ts';
import { type Builder, createBuilder, type Image } from './image-builder.ts';
import { runInside } from './inside.ts';
import { startProject } from './project.ts';
import { repository } from './repository.ts';
import { makeNodeBase, makeRedisImage } from './stand-ins.ts';

/** Prints what a process of the container may do: its user, its capabilities and no-new-privileges, where it can write. */
const CONFINEMENT = `id -u
sed -n -E 's/^(CapEff|CapBnd|NoNewPrivs):\\t//p' /proc/self/status | paste -s -d ' '
for folder in /app /tmp; do if touch $folder/probe 2>/dev/null; then echo writable; else echo read-only; fi; done`;
/** Only ends a build that would never end: it depends on the network. */
const BUILD_MS = 1_200_000;
const reason = whyNoDebianFolders() ?? (await whyNoNamespaces());
const { values, apiKey } = exampleValues('infra/.env.example');
const catalogSchema = z.object({ catalog: z.object({ node: z.string(), '@aws-sdk/client-kms': z.string() }) });

const { catalog } = catalogSchema.parse(parse(await readFile(join(repository, 'pnpm-workspace.yaml'), 'utf8')));

describe.skipIf(reason !== undefined)(reason === undefined ? 'images' : `images (not here: ${reason})`, () => {
  let work = '';
  let builder: Builder;
  let redis: Image;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'postern-images-'));
    const base = join(work, 'node');
    [redis] = await Promise.all([makeRedisImage(join(work, 'redis')), makeNodeBase(base, catalog.node)]);
    const context = join(work, 'context');
    copyContext(repository, context);
    builder = createBuilder(readDockerfile(await readFile(join(repository, 'infra/Dockerfile'), 'utf8')), {
      context,
      work: join(work, 'stages'),
      makeBase: async (_image, folder) => void (await runProgram('cp', ['--archive', base, folder])),
    });
    await mkdir(join(work, 'stages'));
  }, BUILD_MS);
  afterAll(() => rm(work, { recursive: true, force: true }));

  const imageOf = async (name: string) => (name === 'redis:7-bookworm' ? redis : await builder.build(name));

  test.concurrent.each(['gateway', 'demo'])(
    'every build step of the image %s succeeds',
    async target => {
      await builder.build(target);
    },
    BUILD_MS,
  );

  test(
    'the image of the gateway has at most 60 MB beside Node.js, and no file that never runs',
    async () => {
      const { folder, labels, stopSignal } = await builder.build('gateway');
      expect(labels).toMatchObject({ 'org.opencontainers.image.licenses': 'Apache-2.0' });
      expect(stopSignal).toBe('SIGTERM');
      const app = join(folder, 'app');
      const files = (await readdir(app, { recursive: true, withFileTypes: true }))
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name));
      const sizes = await Promise.all(files.map(async file => (await stat(file)).size));
      const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6;
      console.info(`/app: ${megabytes.toFixed(1)} MB in ${files.length} files`);
      expect(megabytes).toBeLessThan(60);
      const idle =
        /\.(?:[cm]?ts|map|md)$|\/(?:test|tests|examples)\/|pnpm-lock|\/(?:npm|pnpm|typescript|rolldown|@postern)\//;
      expect(files.map(file => relative(app, file)).filter(file => idle.test(`/${file}`))).toEqual([]);
    },
    BUILD_MS,
  );

  test.each([
    ['docker-compose.yml', ['docker-compose.yml'], values],
    [
      'infra/compose.ha.yml',
      ['docker-compose.yml', 'infra/compose.ha.yml'],
      { ...values, ...exampleValues('infra/.env.ha.example').values },
    ],
  ])(
    '%s: the gateway becomes healthy, answers requests and exits with 0 on SIGTERM',
    async (name, files, filledIn) => {
      await using stack = new AsyncDisposableStack();
      const network = stack.use(await startNetwork());
      const services = readComposeProject(files, filledIn);
      const project = stack.use(
        await startProject(services, { network, imageOf, work: await mkdtemp(join(work, 'run-')) }),
      );
      // All of them, not only those that the gateway waits for.
      for (const store of Object.keys(services).filter(it => /^(?:redis|sentinel)/.test(it)))
        await project.start(store);
      const gateway = await project.start('gateway');
      const url = `http://${gateway.address}:8080`;

      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect(
        z.object({ openapi: z.string() }).parse(await (await fetch(`${url}/openapi.json`)).json()).openapi,
      ).toMatch(/^3/);
      expect((await fetch(`http://${gateway.address}:9464/metrics`)).status).toBe(200);
      const issued = await fetch(`${url}/v1/elicitations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          kind: 'authorization',
          subject: { issuer: values['IDENTITY_PROVIDER_ISSUER'], subject: name },
          message: 'Connect GitHub',
          authorization: { provider: 'github', scopes: ['repo'] },
        }),
      });
      expect(issued.status).toBe(201);
      const [uid, capabilities, root, tmp] = (await gateway.run(['sh', '-c', CONFINEMENT])).trim().split('\n');
      expect({ uid, capabilities, root, tmp }).toEqual({
        uid: '1000',
        capabilities: '0000000000000000 0000000000000000 1',
        root: 'read-only',
        tmp: 'writable',
      });
      const status = await gateway.run(['postern', 'vault', 'status']);
      expect(status).toContain('key-1');
      expect((await gateway.run(['sh', '-c', 'postern vault new-key --out - 2>/dev/null'])).trim()).toMatch(
        /^[\w+/]{43}=$/,
      );
      expect(gateway.countTasks()).toBeLessThan(services['gateway']?.pids_limit ?? 0);
      expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    },
    BUILD_MS,
  );

  test(
    'infra/compose.openbao.yml: the gateway seals through the Transit engine over TLS, and reads a replaced token',
    async () => {
      await using stack = new AsyncDisposableStack();
      const network = stack.use(await startNetwork());
      const transit = stack.use(await startFakeTransit({ keys: ['postern'] }));
      const tls = stack.use(await startTlsProxy({ host: network.host.address }));
      tls.leadTo(transit.url);
      const folder = await mkdtemp(join(work, 'openbao-'));
      const putToken = async (token: string) => {
        await writeFile(join(folder, 'next'), token, { mode: 0o644 });
        await rename(join(folder, 'next'), join(folder, 'token'));
      };
      await chmod(folder, 0o755);
      await putToken(transit.token);
      await writeFile(join(folder, 'ca.pem'), tls.certificate);
      const services = readComposeProject(['docker-compose.yml', 'infra/compose.openbao.yml'], {
        ...values,
        ...exampleValues('infra/.env.openbao.example').values,
        OPENBAO_URL: tls.origin,
        OPENBAO_HOST: new URL(tls.origin).host,
        OPENBAO_FOLDER: folder,
      });
      const project = stack.use(
        await startProject(services, { network, imageOf, work: await mkdtemp(join(work, 'run-')) }),
      );
      const gateway = await project.start('gateway');
      const ready = async () => (await fetch(`http://${gateway.address}:8080/readyz`)).json();
      await expect.poll(ready).toMatchObject({ keyServices: true });
      await expect.poll(() => transit.calls.map(({ verb }) => verb).slice(0, 2)).toEqual(['encrypt', 'decrypt']);
      await putToken(transit.replaceToken());
      // The identity provider and the providers of the example are not here.
      const checked = await gateway.run(['sh', '-c', 'postern check || true']);
      expect(checked).toMatch(/vault\.keys\.openbao-1 .*encrypts and decrypts/);
      expect(await gateway.run(['postern', 'vault', 'status'])).toMatch(/^openbao-1 +current .*\nkey-1 +old /m);
    },
    BUILD_MS,
  );

  test(
    'the image of docs/key-services.md has the client of AWS KMS, and seals with a key there',
    async () => {
      const [block] = blocksIn('dockerfile').filter(({ document }) => document === 'docs/key-services.md');
      await mkdir(join(work, 'kms-stages'));
      const { env } = await builder.build('gateway');
      const withClient = createBuilder(readDockerfile(block?.body ?? ''), {
        context: work,
        work: join(work, 'kms-stages'),
        makeBase: async (image, folder) => {
          const from = image.startsWith('node:') ? join(work, 'node') : (await builder.build('gateway')).folder;
          await runProgram('cp', ['--archive', from, folder]);
        },
      });
      expect(block?.body).toContain(`@aws-sdk/client-kms@${catalog['@aws-sdk/client-kms']}\n`);
      const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
      await using kms = await startFakeKms({ keys: [arn] });
      const text = await readFile(join(repository, 'infra/postern.config.yaml'), 'utf8');
      const config = {
        ...z.record(z.string(), z.unknown()).parse(parse(text)),
        vault: { transactionKey: values['POSTERN_VAULT_KEY'], keys: [{ kid: 'aws-1', service: 'aws-kms', key: arn }] },
        receipts: {
          keys: [
            {
              kid: 'receipts-1',
              key: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
            },
          ],
        },
      };
      await writeFile(join(work, 'kms.yaml'), JSON.stringify(config), { mode: 0o644 });
      const check = async (folder: string) =>
        await runInside(
          {
            folder,
            user: await userOf(folder, 'node'),
            readOnly: true,
            env: {
              ...env,
              ...values,
              REDIS_URL: 'redis://127.0.0.1:1',
              AWS_ENDPOINT_URL_KMS: kms.url,
              AWS_EC2_METADATA_DISABLED: 'true',
              AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
              AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
            },
            mounts: [{ source: join(work, 'kms.yaml'), target: '/etc/kms.yaml', readOnly: true }],
          },
          ['sh', '-c', 'postern check /etc/kms.yaml || true'],
        );
      expect(await check((await builder.build('gateway')).folder)).toContain('@aws-sdk/client-kms is not installed');
      expect(await check((await withClient.build('postern')).folder)).toMatch(
        /vault\.keys\.aws-1 .*encrypts and decrypts/,
      );
    },
    BUILD_MS,
  );

  test(
    'the demo becomes healthy and exits with 0 on SIGTERM',
    async () => {
      await using stack = new AsyncDisposableStack();
      const network = stack.use(await startNetwork());
      const services = readComposeProject(['docker-compose.yml'], exampleValues('infra/demo.env').values);
      const project = stack.use(
        await startProject(services, { network, imageOf, work: await mkdtemp(join(work, 'run-')) }),
      );
      const demo = await project.start('demo');
      expect(demo.countTasks()).toBeLessThan(services['demo']?.pids_limit ?? 0);
      expect(await demo.stop()).toEqual({ code: 0, signal: null });
    },
    BUILD_MS,
  );
});
