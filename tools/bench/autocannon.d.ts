/** Types of the used parts of autocannon, which ships no types. */
declare module 'autocannon' {
  interface AutocannonRequest {
    method?: string;
    path?: string;
    headers?: Readonly<Record<string, string>>;
    body?: string;
    setupRequest?: (request: AutocannonRequest) => AutocannonRequest;
  }
  interface AutocannonOptions {
    url: string;
    connections: number;
    duration: number;
    requests: AutocannonRequest[];
  }
  interface AutocannonResult {
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    /** Measured duration in seconds. */
    readonly duration: number;
    readonly latency: { readonly p50: number; readonly p99: number };
  }
  function autocannon(options: AutocannonOptions): Promise<AutocannonResult>;
  export = autocannon;
}
