{{- define "postern.name" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{- end -}}
{{- end }}

{{- define "postern.selector" -}}
app.kubernetes.io/name: postern
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "postern.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "postern.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "postern.image" -}}
{{- if .Values.image.digest -}}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end -}}
{{- end }}

{{- /* The configuration file. Ports are the chart's: the Service and the probes depend on them. */ -}}
{{- define "postern.config" -}}
{{- /* A sender that may forge X-Forwarded-For escapes the limits of its address. */ -}}
{{- if not (and .Values.networkPolicy.enabled .Values.networkPolicy.from) -}}
{{- range .Values.config.trustProxy -}}
{{- if regexMatch "/([0-9]|1[0-9]|2[0-3])$" (toString .) -}}
{{- fail (printf "config.trustProxy trusts the network %s: name the addresses of your ingress controller only, or let only its pods in (networkPolicy.from)" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $chart := dict "listen" (dict "host" "0.0.0.0" "port" 8080) "metrics" (dict "host" "0.0.0.0" "port" 9464) -}}
{{- if .Values.config.console -}}
{{- $_ := set $chart "console" (dict "listen" (dict "host" "0.0.0.0" "port" 8090)) -}}
{{- end -}}
{{- if hasKey .Values.config "adminApi" -}}
{{- $_ := set $chart "adminApi" (dict "host" "0.0.0.0" "port" 8091) -}}
{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $chart) -}}
{{- end }}

{{- /* Sections that need a restart. A running gateway loads the others anew when the kubelet updates its file. */ -}}
{{- define "postern.restartConfig" -}}
{{- toYaml (pick .Values.config "publicUrl" "listen" "adminApi" "console" "metrics" "telemetry" "redis" "store" "vault" "audit" "retention" "events" "payment" "overload") -}}
{{- end }}

{{- /* Longer than draining and finishing take, so that the kubelet never kills a request. The defaults are those of the gateway. */ -}}
{{- define "postern.graceSeconds" -}}
{{- $stop := .Values.config.stop | default dict -}}
{{- add (int (dig "drainSeconds" 5 $stop)) (int (dig "finishSeconds" 10 $stop)) 5 -}}
{{- end }}

{{- define "postern.host" -}}
{{- .Values.ingress.host | default (urlParse (required "config.publicUrl is required" .Values.config.publicUrl)).hostname -}}
{{- end }}

{{- define "postern.consoleHost" -}}
{{- (urlParse (required "config.console.publicUrl is required" .Values.config.console.publicUrl)).hostname -}}
{{- end }}
