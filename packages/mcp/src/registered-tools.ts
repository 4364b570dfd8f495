import { z } from 'zod/v4';

/** What this package knows of the tool that a wrapped handler belongs to. */
export interface RegisteredTool {
  readonly name: string;
  readonly hasOutputSchema: boolean;
}

/** The list of tools, which neither SDK publishes. Checked, so that another version of an SDK leaves them unknown. */
const serverSchema = z.object({
  _registeredTools: z.record(
    z.string(),
    z.object({ handler: z.custom<object>(value => typeof value === 'function'), outputSchema: z.unknown() }),
  ),
});

/** Finds the registration of a tool by its handler: the SDKs hand a handler neither the name nor the output schema of its tool. */
export interface RegisteredTools {
  /** For a server that handlers cannot reach: one that serves a single request. */
  add(server: object): void;
  /** Undefined if neither `server` nor an added server has the handler. */
  find(handler: object | undefined, server: object | undefined): RegisteredTool | undefined;
}

export function createRegisteredTools(): RegisteredTools {
  const tools = new WeakMap<object, RegisteredTool>();
  function add(server: object): void {
    for (const [name, { handler, outputSchema }] of Object.entries(
      serverSchema.safeParse(server).data?._registeredTools ?? {},
    ))
      tools.set(handler, { name, hasOutputSchema: outputSchema !== undefined });
  }
  return {
    add,
    find(handler, server) {
      if (handler === undefined) return undefined;
      if (server !== undefined) add(server);
      return tools.get(handler);
    },
  };
}
