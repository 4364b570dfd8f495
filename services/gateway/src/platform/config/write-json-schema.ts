import { writeFileSync } from 'node:fs';
import { configJsonSchemaText, configJsonSchemaUrl } from './config-json-schema.ts';

// Publishes the schema that editors check `postern.config.yaml` with: node services/gateway/src/platform/config/write-json-schema.ts
writeFileSync(configJsonSchemaUrl, configJsonSchemaText());
