-- Prepended to the scripts that return an elicitation: <elicitation>, in this order. The fields from RECORD on are its record.
local ELICITATION = { 'status', 'version', 'createdAt', 'expiresAt', 'endedAt', 'redeemed', 'record', 'r2', 'r3', 'r4', 'r5',
  'r6', 'r7', 'r8' }
local RECORD = 7
