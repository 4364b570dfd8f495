/** Loaded into a gateway with `--import`: on SIGUSR2 something fails that nobody handles, with a secret in every place of the error. */
process.on('SIGUSR2', () => {
  const secret = process.env['SURPRISE_SECRET'] ?? '';
  const error = Object.assign(new Error(`surprise ${secret}`, { cause: { secret } }), { secret, code: 'ERR_SURPRISE' });
  if (process.env['SURPRISE_KIND'] === 'rejection') void Promise.reject(error);
  else throw error;
});
