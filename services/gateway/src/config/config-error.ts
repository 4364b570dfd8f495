export interface ConfigFault {
  readonly path: string;
  readonly message: string;
}

/** The configuration cannot be used. Names every fault by its path, never a value. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super(
      ['The configuration has faults:', ...faults.map(fault => `  ${fault.path || '(file)'}: ${fault.message}`)].join(
        '\n',
      ),
    );
    this.faults = faults;
  }
}
