/** Starts one instance per distinct options and shares it. Disposed with `owner`. */
export function oncePerOptions<Options, Started extends AsyncDisposable>(
  owner: AsyncDisposableStack,
  start: (options: Options) => Promise<Started>,
): (options: Options) => Promise<Started> {
  const all = new Map<string, Promise<Started>>();
  return options => {
    const key = JSON.stringify(options);
    const one = all.get(key) ?? start(options).then(started => owner.use(started));
    all.set(key, one);
    return one;
  };
}
