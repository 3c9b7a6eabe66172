-- Run once, as the superuser: psql -v password=… -f database.sql
CREATE ROLE provider_checkout LOGIN PASSWORD :'password';
CREATE DATABASE provider_checkout OWNER provider_checkout;
