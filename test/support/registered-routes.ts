import type { FastifyInstance } from 'fastify';

export interface RegisteredRoute {
  readonly method: string;
  /** With parameters, such as `/e/:elicitationId`. */
  readonly path: string;
}

/** Every route of a running application, so that tests need no list that can become stale. */
export function registeredRoutes(app: FastifyInstance): RegisteredRoute[] {
  const parents: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap(line => {
      const found = /^(.*?)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/u.exec(line);
      if (found === null) return [];
      const [, indent = '', segment = '', methods = ''] = found;
      const depth = indent.length / 4;
      const path = depth === 0 ? segment : `${parents[depth - 1] ?? ''}${segment}`;
      parents[depth] = path;
      return methods === '' ? [] : methods.split(', ').map(method => ({ method, path }));
    });
}
