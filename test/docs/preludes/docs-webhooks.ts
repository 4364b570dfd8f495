/** Predefined names for the examples of docs/webhooks.md. */
export declare const rawBody: string;
export declare const request: { readonly headers: Record<string, string> };
export declare const secret: string;
