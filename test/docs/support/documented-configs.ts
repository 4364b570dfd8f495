import { randomBytes } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import { blocksIn, type DocBlock, readDocument, titleOf } from './doc-blocks.ts';

type Members = Readonly<Record<string, unknown>>;

export interface DocumentedConfig {
  readonly title: string;
  /** As written, with references; {@link baseConfig} completes a fragment. */
  readonly document: Members;
}

/** The minimal configuration that a gateway accepts. Fragments are merged into it. */
const baseConfig = {
  publicUrl: 'https://gate.example.com',
  vault: { keys: [{ kid: 'first', key: randomBytes(32).toString('base64') }] },
  identityProviders: [{ name: 'company', issuer: 'https://id.example.com', clientId: 'postern' }],
  mcpServers: [
    {
      id: 'tracker',
      name: 'Tracker',
      url: 'https://tracker.example.com/mcp',
      apiKeys: [{ hash: `sha256:${'0a'.repeat(32)}` }],
    },
  ],
};

const members = z.record(z.string(), z.unknown());
const namedList = z.array(z.union([z.looseObject({ name: z.string() }), z.looseObject({ id: z.string() })]));

/** The configurations in shipped files. A section that a file has as a comment is a configuration as well. */
export const shippedConfigs: readonly DocumentedConfig[] = [
  'infra/postern.config.yaml',
  'infra/postern.ha.config.yaml',
  'infra/postern.openbao.config.yaml',
].flatMap(path => {
  const text = readDocument(path);
  const uncommented = text.replaceAll(/^#(?=\S| {2})/gm, '');
  const texts =
    uncommented === text
      ? [[path, text]]
      : [
          [path, text],
          [`${path}, all of it`, uncommented],
        ];
  return texts.map(([title = '', each = '']) => ({ title, document: members.parse(parse(each)) }));
});

/**
 * The `yaml` blocks of all documents. A block is a part of a configuration, a list of providers, or members of the
 * latest provider before it. A block that names an entry of an earlier block in its document extends that entry.
 */
export function documentedConfigs(topLevel: ReadonlySet<string>): DocumentedConfig[] {
  const providersOf = new Map<string, readonly Members[]>();
  const ofGateway = blocksIn('yaml').filter(({ document }) => document !== 'packages/proxy/README.md');
  return ofGateway.map(block => {
    const known = providersOf.get(block.document) ?? [];
    const part = partOf(block, known.at(-1), topLevel);
    const providers = mergedList(known, namedList.parse(part['providers'] ?? []));
    providersOf.set(block.document, providers);
    const described = namedList.parse(part['providers'] ?? []).map(provider => entryLike(providers, provider));
    return {
      title: titleOf(block),
      document: merged(baseConfig, described.length === 0 ? part : { ...part, providers: described }),
    };
  });
}

function partOf(block: DocBlock, last: Members | undefined, topLevel: ReadonlySet<string>): Members {
  const content: unknown = parse(block.body, { uniqueKeys: true });
  if (Array.isArray(content)) return { providers: content };
  const part = members.parse(content);
  if (Object.keys(part).every(name => topLevel.has(name))) return part;
  if (last === undefined) throw new Error(`${titleOf(block)}: not a part of a configuration`);
  return { providers: [{ name: last['name'], ...part }] };
}

function merged(base: Members, part: Members): Members {
  const both = Object.entries(part).map(([name, value]) => {
    const under = base[name];
    const lists = [namedList.safeParse(under), namedList.safeParse(value)] as const;
    if (lists[0].success && lists[1].success) {
      const list = mergedList(lists[0].data, lists[1].data);
      return [name, list.filter(entry => lists[1].data?.some(item => isSame(item, entry)))];
    }
    return [name, value];
  });
  return { ...base, ...Object.fromEntries(both) };
}

/** Merges entries with the same name or id. A new MCP server inherits the members of the base one. */
function mergedList(list: readonly Members[], additions: readonly Members[]): Members[] {
  const model = list.find(entry => 'id' in entry) ?? {};
  const completed = (addition: Members): Members => {
    const under = list.find(entry => isSame(entry, addition)) ?? model;
    // A client authenticates with one or the other.
    const { clientSecret, ...rest } = under;
    return { ...('clientKey' in addition || clientSecret === undefined ? rest : under), ...addition };
  };
  const known = list.map(entry => {
    const addition = additions.find(candidate => isSame(candidate, entry));
    return addition === undefined ? entry : completed(addition);
  });
  return [...known, ...additions.filter(addition => !list.some(entry => isSame(entry, addition))).map(completed)];
}

const isSame = (a: Members, b: Members) => ('id' in b ? a['id'] === b['id'] : a['name'] === b['name']);

function entryLike(list: readonly Members[], entry: Members): Members {
  return list.find(candidate => isSame(candidate, entry)) ?? entry;
}
