/** Loaded into a gateway with `--import`: SIGUSR2 causes an unhandled error with a secret in each of its members. */
process.on('SIGUSR2', () => {
  const secret = process.env['SURPRISE_SECRET'] ?? '';
  const error = Object.assign(new Error(`surprise ${secret}`, { cause: { secret } }), { secret, code: 'ERR_SURPRISE' });
  if (process.env['SURPRISE_KIND'] === 'rejection') void Promise.reject(error);
  else throw error;
});
