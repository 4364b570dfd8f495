import fp from 'fastify-plugin';

const YEAR_SECONDS = 31_536_000;

/**
 * On every answer, whatever it is (ASVS 3.4). Pages set their own content policy first; what sets none gets the strictest.
 * `same-origin` as referrer policy because `no-referrer` makes our own forms arrive with `Origin: null`.
 */
export const securityHeadersPlugin = fp<{ publicUrl: string }>(
  async (app, { publicUrl }) => {
    const hsts = publicUrl.startsWith('https:');
    app.addHook('onSend', async (_request, reply) => {
      if (!reply.hasHeader('content-security-policy')) {
        reply.header(
          'content-security-policy',
          "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
        );
      }
      if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
      reply.header('x-content-type-options', 'nosniff');
      reply.header('referrer-policy', 'same-origin');
      reply.header('cross-origin-opener-policy', 'same-origin');
      reply.header('cross-origin-resource-policy', 'same-origin');
      reply.header('x-frame-options', 'DENY');
      reply.header('permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()');
      if (hsts) reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}; includeSubDomains`);
    });
  },
  { name: 'security-headers' },
);
