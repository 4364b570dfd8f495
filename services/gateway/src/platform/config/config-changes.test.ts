import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { fullConfig } from '../../testing/full-config.ts';
import { sampleConfig, sampleMcpServer } from '../../testing/sample-config.ts';
import { configChanges } from './config-changes.ts';
import { parseConfig } from './load-config.ts';

const vault = { keys: [{ kid: 'k', key: randomBytes(32).toString('base64') }] };
const secret = () => `whsec_${randomBytes(32).toString('base64')}`;

it('finds no change between two readings of one file, keys included', () => {
  const full = fullConfig();
  expect(configChanges(parseConfig(full), parseConfig(full))).toEqual({
    sections: [],
    needRestart: [],
    mcpServers: { added: [], changed: [], removed: [] },
    providers: { added: [], changed: [], removed: [] },
    identityProviders: { added: [], changed: [], removed: [] },
    processors: { added: [], changed: [], removed: [] },
  });
});

it('finds a changed webhook secret, although parsing hides it', () => {
  const withSecret = (value: string) =>
    parseConfig(
      sampleConfig({
        vault,
        mcpServers: [{ ...sampleMcpServer, webhooks: [{ id: 'hook', url: 'https://hook.example', secrets: [value] }] }],
      }),
    );
  const changes = configChanges(withSecret(secret()), withSecret(secret()));
  expect(changes.sections).toEqual(['mcpServers']);
  expect(changes.mcpServers.changed).toEqual([sampleMcpServer.id]);
});

it('finds a changed vault key, which needs a restart', () => {
  const withKey = () =>
    parseConfig(sampleConfig({ vault: { keys: [{ kid: 'k', key: randomBytes(32).toString('base64') }] } }));
  expect(configChanges(withKey(), withKey()).needRestart).toEqual(['vault']);
});

it('names what is added, changed and removed', () => {
  const before = [sampleMcpServer, { ...sampleMcpServer, id: 'old', apiKeys: [{ hash: `sha256:${'1'.repeat(64)}` }] }];
  const after = [
    { ...sampleMcpServer, name: 'Another name' },
    { ...sampleMcpServer, id: 'new', apiKeys: [{ hash: `sha256:${'2'.repeat(64)}` }] },
  ];
  const changes = configChanges(
    parseConfig(sampleConfig({ vault, mcpServers: before })),
    parseConfig(sampleConfig({ vault, mcpServers: after })),
  );
  expect(changes.mcpServers).toEqual({ added: ['new'], changed: [sampleMcpServer.id], removed: ['old'] });
  expect(changes.needRestart).toEqual([]);
});
