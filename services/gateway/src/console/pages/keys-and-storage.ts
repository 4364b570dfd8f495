import { type Html, html } from '@postern/pages/html';
import type { Health } from '../admin-views.ts';
import { partsBar } from './charts.ts';
import { code, count, linkTo, optional, status, table, time, timeOrNone } from './parts.ts';

/** Since when a key is known. */
export function ageHtml({ since, isOrEarlier }: { readonly since?: string; readonly isOrEarlier?: boolean }): Html {
  if (since === undefined) return html`<span class="soft">unknown</span>`;
  return isOrEarlier === true ? html`<span class="soft">on or before</span> ${time(since)}` : time(since);
}

const MIB = 1024 * 1024;
const mebibytes = (bytes: number) => (bytes / MIB).toLocaleString('en-US', { maximumFractionDigits: 1 });
const percent = (part: number) => `${Math.round(part * 100)} %`;

const ofQuota = (used: Html | string, quota: string): Html => html`${used} <span class="soft">of ${quota}</span>`;

export function storageTable(storage: NonNullable<Health['storage']>): Html {
  return html`<h2>Storage quotas</h2>
<p class="soft">Each shard has an equal part of a quota, and a person is in one shard. Above 87.5 % of its part, new requests for its people are refused; answers are still stored. Connections, credentials and passkeys that fill half of a part leave no room for new ones.</p>${table(
    {
      caption: 'Storage quotas by MCP server, the fullest shard first',
      columns: [
        { name: 'MCP server' },
        { name: 'Status' },
        { name: 'Records', isNumber: true },
        { name: 'MiB', isNumber: true },
        { name: 'Fullest shard' },
      ],
      rows: storage.map(each => [
        html`<a href="${linkTo('/elicitations', { mcpServer: each.mcpServerId })}">${each.mcpServerId}</a>`,
        status(each.isRefusing ? 'refusing' : 'accepting'),
        ofQuota(count(each.records), each.recordsQuota.toLocaleString('en-US')),
        ofQuota(mebibytes(each.bytes), mebibytes(each.bytesQuota)),
        html`<span class="share">${partsBar([each.fullestShard, Math.max(0, 1 - each.fullestShard)], [each.isRefusing ? 3 : 0, undefined])} ${percent(each.fullestShard)}</span>`,
      ]),
      empty: 'No MCP server is configured.',
    },
  )}`;
}

export function keyTables({ vaultKeys = [], receiptKeys = [], apiKeys }: Health): Html {
  const kept = [
    ...vaultKeys.map(({ kid, seals, ...age }) => ({ kid, use: seals ? 'seals and opens' : 'opens', of: 'vault', age })),
    ...receiptKeys.map(({ kid, signs, ...age }) => ({
      kid,
      use: signs ? 'signs and verifies' : 'verifies',
      of: 'receipts',
      age,
    })),
  ];
  return html`<h2>Keys</h2>
<p class="soft">Since when this deployment has a key. On or before: it had the key already when it began to note ages.</p>${table(
    {
      caption: 'Keys of the vault and of receipts',
      columns: [{ name: 'Key' }, { name: 'Of' }, { name: 'Use' }, { name: 'In use since (UTC)' }],
      rows: kept.map(({ kid, of, use, age }) => [code(kid), html`${of}`, html`${use}`, ageHtml(age)]),
      empty: 'Unknown while the store does not respond.',
    },
  )}
<h3>API keys, the oldest first</h3>${table({
    caption: 'API keys of MCP servers, the oldest first',
    columns: [
      { name: 'API key' },
      { name: 'MCP server' },
      { name: 'Name' },
      { name: 'Since (UTC)' },
      { name: 'Last use (UTC)' },
      { name: 'Expires (UTC)' },
    ],
    rows: (apiKeys?.oldest ?? []).map(each => [
      code(each.apiKeyId),
      html`${each.mcpServerId}`,
      optional(each.name),
      ageHtml(each),
      timeOrNone(each.lastUsedAt),
      timeOrNone(each.expires),
    ]),
    empty: 'No valid API key.',
  })}
<p><a href="${linkTo('/api-keys')}">All API keys</a> <span class="soft">(${String(apiKeys?.valid ?? 0)} valid)</span></p>`;
}
