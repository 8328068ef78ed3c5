{{- define "ars.name" -}}
{{ .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "ars.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "ars.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ars.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* What every pod has. `part`: the values of the role; `component`: its label. */}}
{{- define "ars.pod" -}}
{{- $root := .root -}}
automountServiceAccountToken: false
{{- with $root.Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
# Variables such as ARS_PORT=tcp://… would be taken for settings.
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "ars.podSecurity" $root | nindent 2 }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- range $name := list "nodeSelector" "affinity" "tolerations" }}
{{- with get $.part $name }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The container's, of every role and job. */}}
{{- define "ars.container" -}}
image: {{ include "ars.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  {{- include "ars.env" .root | nindent 2 }}
resources:
  {{- toYaml .part.resources | nindent 2 }}
securityContext:
  {{- include "ars.containerSecurity" .root | nindent 2 }}
{{ include "ars.mounts" .root }}
{{- end }}

{{- define "ars.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "ars.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "ars.erasures" -}}
{{- if .Values.erasures.enabled }}
{{- if not .Values.erasures.existingClaim }}
{{- fail "erasures.existingClaim is empty. Name the claim for the list of erasures, or set erasures.enabled to false: a restore then brings erased learners back." }}
{{- end }}
{{- .Values.erasures.existingClaim }}
{{- end }}
{{- end }}

{{- define "ars.env" -}}
{{- if and .Values.ingress.enabled (not .Values.settings.ARS_TRUSTED_PROXIES) }}
{{- fail "settings.ARS_TRUSTED_PROXIES must be set to the networks of the ingress controller's pods" }}
{{- end -}}
- name: ARS_BASE_URL
  value: {{ .Values.baseUrl | quote }}
- name: DATABASE_URL_FILE
  value: /run/secrets/ars/DATABASE_URL
- name: ARS_SECRET_FILE
  value: /run/secrets/ars/ARS_SECRET
- name: ARS_METRICS_HOST
  value: 0.0.0.0
- name: ARS_DRAIN_SECONDS
  value: {{ .Values.drainSeconds | quote }}
- name: ARS_DRAIN_DELAY_SECONDS
  value: {{ .Values.drainDelaySeconds | quote }}
{{- if include "ars.erasures" . }}
- name: ARS_ERASURES_FILE
  value: /var/lib/ars/erasures
{{- end }}
{{- /* Of two variables with one name Kubernetes takes the last, without a word. */}}
{{- $others := dict
  "ARS_BASE_URL" "it is baseUrl"
  "DATABASE_URL" "it comes from existingSecret" "DATABASE_URL_FILE" "it comes from existingSecret"
  "ARS_SECRET" "it comes from existingSecret" "ARS_SECRET_FILE" "it comes from existingSecret"
  "ARS_HOST" "the service needs it to be 0.0.0.0" "ARS_PORT" "the service needs it to be 8080"
  "ARS_METRICS_HOST" "probes need it to be 0.0.0.0" "ARS_METRICS_PORT" "probes need it to be 9464"
  "ARS_DRAIN_SECONDS" "it is drainSeconds"
  "ARS_DRAIN_DELAY_SECONDS" "it is drainDelaySeconds"
}}
{{- if include "ars.erasures" . }}
{{- $_ := set $others "ARS_ERASURES_FILE" "it lies in erasures.existingClaim" }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- with get $others $name }}
{{- fail (printf "settings.%s can't be set: %s" $name .) }}
{{- end }}
- name: {{ $name }}
  {{- /* Helm reads every number as a float64, and writes a million as 1e+06. */}}
  value: {{ if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ $value | int64 | quote }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- end }}

{{- define "ars.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: metrics }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: metrics }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
readinessProbe:
  httpGet: { path: /readyz, port: metrics }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{- define "ars.mounts" -}}
volumeMounts:
  - { name: secrets, mountPath: /run/secrets/ars, readOnly: true }
  - { name: tmp, mountPath: /tmp }
  {{- if include "ars.erasures" . }}
  - { name: erasures, mountPath: /var/lib/ars }
  {{- end }}
{{- end }}

{{- define "ars.volumes" -}}
volumes:
  - name: secrets
    secret:
      secretName: {{ .Values.existingSecret }}
      defaultMode: 0440
  # For commands (kubectl exec).
  - name: tmp
    emptyDir: {}
  {{- if include "ars.erasures" . }}
  - name: erasures
    persistentVolumeClaim:
      claimName: {{ include "ars.erasures" . }}
  {{- end }}
{{- end }}
