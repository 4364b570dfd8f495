import type { IssueElicitationInput } from '@postern/api';
import type { Gateway, GatewayConfigInput } from '@postern/gateway';
import type { startOpenIdProvider, TestProvider } from '@postern/testkit/providers';
import type { RedisServer } from '@postern/testkit/redis';
import type { FakeStripe, FakeStripeOptions } from '@postern/testkit/stripe';
import type { Api, ElicitationAnswer } from './api.ts';
import type { RawBrowser } from './raw-browser.ts';
import type { WorldClock } from './world-clock.ts';
import type { WorldStore } from './world-store.ts';

export type McpServerInput = GatewayConfigInput['mcpServers'][number];
export type PaymentPolicy = NonNullable<McpServerInput['payment']>;
export type AuthorizationInput = Extract<IssueElicitationInput, { kind: 'authorization' }>;

export interface WorldOptions {
  /**
   * Over a file every MCP server has the identity mode `loopback`, and what needs Redis is left out: other replicas, webhooks, and other
   * MCP servers with another identity mode. Default: Redis, unless `overAFile` runs the test file.
   */
  readonly store?: WorldStore;
  /** Default: an empty Redis for this world, which the worker reuses for its next world. */
  readonly redisUrl?: string;
  /** Redis is killed or frozen: commands time out as in the product, and acknowledged writes must not depend on a busy disk. */
  readonly isRedisKilled?: boolean;
  /** Overrides of the registration of the MCP server `tracker`. */
  readonly mcpServer?: Partial<McpServerInput>;
  /** Further MCP servers, each with the API key `keyOf(id)`. */
  readonly otherMcpServers?: readonly (Partial<McpServerInput> & { readonly id: string })[];
  /** Lets `tracker` request payments from a fake Stripe, with these changes of the policy. */
  readonly payment?: Partial<PaymentPolicy>;
  readonly stripe?: FakeStripeOptions;
  /** Replaces top-level members of the configuration; a function receives the existing parts. */
  readonly config?: Partial<GatewayConfigInput> | ((parts: ConfigParts) => Partial<GatewayConfigInput>);
  /** Pause between two sweeps, in ms, for a file that waits for them. Default: the pause of the product. */
  readonly sweepPauseMs?: number;
  /** Gateways on the same Redis behind the same public URL. Default 1. With 0, `publicUrl` is required. */
  readonly replicas?: number;
  readonly provider?: Partial<Parameters<typeof startOpenIdProvider>[0]>;
  readonly identityProvider?: Partial<Parameters<typeof startOpenIdProvider>[0]>;
  /** The public address, if a TLS proxy is in front of the gateway. */
  readonly publicUrl?: string;
  readonly accessTokenAudience?: string;
  /** How many users `subject()` can return. Default 80. */
  readonly people?: number;
  /** Log level. Default `debug`. */
  readonly logLevel?: string;
  /** The file plants secrets on purpose, or searches for them itself. */
  readonly plantsLeaks?: true;
}

export interface ConfigParts {
  readonly base: GatewayConfigInput;
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
}

/** One or more gateways with real dependencies on loopback, and enough users that no two tests of a file share a subject. */
export interface World extends AsyncDisposable {
  readonly publicUrl: string;
  readonly gateways: readonly Gateway[];
  /** Configuration of the gateways, for further processes; `listen` is of the first. */
  readonly config: GatewayConfigInput;
  /** @throws in a world over a file */
  readonly redis: { readonly url: string; readonly server: RedisServer | undefined };
  /** Path of the file, if it keeps the state instead of Redis. */
  readonly file: string | undefined;
  readonly identityProvider: TestProvider;
  readonly provider: TestProvider;
  readonly clock: WorldClock;
  /** Everything that any gateway logged, as text. */
  readonly log: () => string;
  /** API of the MCP server `tracker` at the first gateway. */
  readonly api: Api;
  /** Default: `tracker` at the first gateway. */
  apiOf(p?: { replica?: number; apiKey?: string }): Api;
  /** Returns an unused user of the identity provider. */
  subject(): string;
  /** A browser at the first gateway. */
  raw(): RawBrowser;
  /** Issues an authorization request for `user`. @throws if it is not issued */
  ask(user: string, overrides?: Partial<AuthorizationInput>): Promise<ElicitationAnswer>;
}

/** A world that was started with `payment`. */
export interface PayingWorld extends World {
  readonly stripe: FakeStripe;
}
