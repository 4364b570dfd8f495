/** What this package knows of the tool or prompt that a wrapped handler belongs to. */
export interface RegisteredHandler {
  readonly name: string;
  readonly hasOutputSchema: boolean;
}

/** Finds a registration by its handler: the SDKs hand a handler neither the name nor the output schema of its tool. */
export interface RegisteredHandlers {
  /** For a server that handlers cannot reach: one that serves a single request. */
  add(server: object): void;
  /** Undefined if neither `server` nor an added server has the handler. */
  find(handler: object, server: object | undefined): RegisteredHandler | undefined;
}

type Registry = Readonly<Record<string, { handler?: unknown; callback?: unknown; outputSchema?: unknown }>>;

/**
 * Both SDKs keep their registrations in members that their types hide. If an SDK keeps them elsewhere, or wraps the handler (prompts of
 * SDK v2), the handler is unknown.
 */
export function createRegisteredHandlers(): RegisteredHandlers {
  const known = new WeakMap<object, RegisteredHandler>();
  function add(server: object): void {
    const { _registeredTools: tools = {}, _registeredPrompts: prompts = {} } = server as {
      readonly [Member in '_registeredTools' | '_registeredPrompts']?: Registry;
    };
    for (const [name, { handler, callback, outputSchema }] of [...Object.entries(prompts), ...Object.entries(tools)])
      for (const found of [handler, callback])
        if (typeof found === 'function') known.set(found, { name, hasOutputSchema: outputSchema !== undefined });
  }
  return {
    add,
    find(handler, server) {
      if (server !== undefined) add(server);
      return known.get(handler);
    },
  };
}
