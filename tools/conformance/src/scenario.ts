import { type Checks, type ConformanceCheck, createChecks } from './checks.ts';
import type { OpenAs } from './person.ts';
import type { RequirementId } from './requirements.ts';
import { type Revision, revisions } from './revision.ts';
import type { Endpoint } from './wire/endpoint.ts';

/** What the scenarios for MCP servers need. */
export interface ServerTarget {
  readonly revision: Revision;
  /** The MCP server as the user reaches it in whose name the suite calls. */
  readonly endpoint: Endpoint;
  /** The same MCP server as another user reaches it. */
  readonly otherEndpoint: Endpoint | undefined;
  /** A tool that asks in URL mode when it is called with these arguments. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Arguments of another call of this tool. */
  readonly otherArgs: Readonly<Record<string, unknown>> | undefined;
  /** Values that must not be in a URL, in addition to credentials and the claims of a JWT: an e-mail address, for example. */
  readonly userData: readonly string[];
  /** Undefined: no person is there, and the checks that need one are skipped. */
  readonly openAs: OpenAs | undefined;
  /** How long a call may take to answer or ask, in milliseconds. */
  readonly limitMs: number;
  /** How long the suite waits for something that a correct MCP server never does, and for optional notifications, in milliseconds. */
  readonly settleMs: number;
}

/** A scenario for MCP servers. The suite acts as the client. */
export interface ServerScenario {
  readonly name: string;
  readonly description: string;
  readonly revisions: readonly Revision[];
  /** Never throws: what prevents a check fails it. */
  run(target: ServerTarget): Promise<readonly ConformanceCheck[]>;
}

/** The checks of a scenario, by revision. */
export type IdsOf = Readonly<Partial<Record<Revision, readonly RequirementId[]>>>;

export function serverScenario({
  name,
  description,
  ids,
  play,
}: {
  readonly name: string;
  readonly description: string;
  readonly ids: IdsOf;
  /** @returns why the checks without a verdict could not be tested */
  readonly play: (target: ServerTarget, checks: Checks) => Promise<string>;
}): ServerScenario {
  return {
    name,
    description,
    revisions: revisions.filter(revision => ids[revision] !== undefined),
    async run(target) {
      const checks = createChecks(ids[target.revision] ?? [], target.revision);
      try {
        return checks.finish(await play(target, checks));
      } catch (error) {
        return checks.finish(reasonOf(error));
      }
    },
  };
}

/** `fetch` hides the reason of a network error in `cause`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
