import type { FastifyInstance } from 'fastify';

/** The page to go to if no page is above a path. */
const FALLBACK = '/me';

/**
 * A browser that restores a tab requests with GET the URL that showed the response to a form. Every path of this scope that
 * accepts only POST therefore redirects a GET to the nearest page above it. The redirect reads and changes nothing.
 * @returns a function to call after all routes of the scope are registered
 */
export function redirectGetOfPosts(scope: FastifyInstance): () => void {
  const pages = new Set<string>();
  const forms = new Set<string>();
  scope.addHook('onRoute', ({ method, url }) => {
    const methods = [method].flat();
    if (methods.includes('GET')) pages.add(url);
    if (methods.includes('POST')) forms.add(url);
  });
  return () => {
    for (const url of [...forms].filter(form => !pages.has(form))) {
      const segments = url.split('/');
      const kept = segments.findLastIndex((_, at) => pages.has(segments.slice(0, at).join('/')));
      scope.get(url, (request, reply) => {
        // As the browser sent it, so that a decoded slash cannot change the path.
        const [path = ''] = request.url.split('?');
        // A request target in absolute form (RFC 9112 section 3.2.2) matches the route as well, and may name another host.
        const isOwn = kept !== -1 && path.startsWith('/') && !path.startsWith('//');
        return reply.redirect(isOwn ? path.split('/').slice(0, kept).join('/') : FALLBACK, 303);
      });
    }
  };
}
